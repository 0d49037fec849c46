#pragma once

#include <absl/container/btree_set.h>
#include <absl/container/flat_hash_map.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text_map.hpp"
#include "core/model/due_order.hpp"
#include "core/model/job.hpp"
#include "core/model/order.hpp"
#include "core/state/index/batch_members.hpp"
#include "core/state/index/failure_groups.hpp"
#include "core/state/queues.hpp"
#include "core/state/throttle/throttles.hpp"

namespace millrace {

/// The orders in which jobs are asked for, those of the queues and those of the whole server. A job
/// is in the orders of its state only, and counted there.
class JobOrders {
 public:
  /// Both outlive this.
  JobOrders(Queues& queues, Throttles& throttles)
      : queues_(queues), throttles_(throttles), held_under_jid_(kJidShards) {}
  JobOrders(const JobOrders&) = delete;
  JobOrders& operator=(const JobOrders&) = delete;

  /// To be called after the job came into being or changed. `attempts`: its own, or null.
  void enter(const Job& job, JobSlot slot, const Attempts* attempts);
  /// To be called before the job changes or is removed: its entries are found by its fields. `next`
  /// is the state in which it enters at once; nullopt: it is removed.
  void leave(const Job& job, JobSlot slot, std::optional<JobState> next);

  [[nodiscard]] const DueOrder& scheduled() const { return scheduled_; }
  [[nodiscard]] const TimeOrder& retrying() const { return retrying_; }
  [[nodiscard]] const TimeOrder& reserved() const { return reserved_; }
  [[nodiscard]] const TimeOrder& dead() const { return dead_; }
  /// Those of the dead that were pushed and have their bodies: they are removed some time.
  [[nodiscard]] const TimeOrder& dead_work_units() const { return dead_work_units_; }

  /// Jobs that expire, while they wait for a run: by wall time.
  [[nodiscard]] const TimeOrder& expiring() const { return expiring_; }

  [[nodiscard]] const BatchMembers& members() const { return members_; }
  [[nodiscard]] const FailureGroups& failures() const { return failures_; }

  [[nodiscard]] std::uint64_t count(JobState state) const {
    return counts_[static_cast<std::size_t>(state)];
  }
  [[nodiscard]] std::uint64_t urgent_count() const { return urgent_count_; }
  [[nodiscard]] std::uint64_t worker_held_count() const { return worker_held_count_; }

  /// The jobs that a connection holds, by deadline; null when there are none.
  [[nodiscard]] const TimeOrder* held_by(ClientId client) const;

  using JobIds = absl::btree_set<JobId>;
  /// The jobs of that name that workers hold, the oldest first; null when there are none.
  [[nodiscard]] const JobIds* held_under(std::string_view jid) const;

  /// Now, or a little later: no two dead jobs have the same time.
  [[nodiscard]] Time time_of_death(Time now) const;

 private:
  void enter_reserved(const Job& job, JobSlot slot);
  void leave_reserved(const Job& job, JobSlot slot);

  // In shards, so that none grows so large that its growth would be a pause.
  static constexpr std::size_t kJidShards = 256;
  using JidShard = TextMap<JobIds>;
  [[nodiscard]] static std::size_t shard_of(std::string_view jid) {
    return TextHash{}(jid) % kJidShards;
  }

  Queues& queues_;
  Throttles& throttles_;
  DueOrder scheduled_;
  TimeOrder retrying_;
  TimeOrder reserved_;
  TimeOrder dead_;
  TimeOrder dead_work_units_;
  TimeOrder expiring_;
  BatchMembers members_;
  FailureGroups failures_;
  std::array<std::uint64_t, kJobStateCount> counts_{};
  std::uint64_t urgent_count_ = 0;
  std::uint64_t worker_held_count_ = 0;
  absl::flat_hash_map<ClientId, TimeOrder> held_by_client_;
  std::vector<JidShard> held_under_jid_;
};

}  // namespace millrace
