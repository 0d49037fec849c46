#pragma once

#include <absl/container/btree_map.h>
#include <absl/container/btree_set.h>
#include <absl/container/flat_hash_map.h>

#include <array>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/slab.hpp"
#include "base/text_map.hpp"
#include "core/model/queue.hpp"
#include "core/model/record.hpp"
#include "core/state/bodies.hpp"
#include "core/state/job_index.hpp"
#include "core/state/log_order.hpp"

namespace millrace {

/// All jobs and queues, and every order in which they are asked for. `apply` is the only way to
/// change a job: live traffic, recovery and (later) a standby all come through it.
class Store {
 public:
  Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Makes it so. A change or removal of a job that is not there does nothing: in a log whose
  /// beginning was cleaned away, the job's whole record stands further on.
  void apply(Record&& record);

  // ---- jobs -------------------------------------------------------------------------------------

  [[nodiscard]] const Job* find(JobId id) const;
  /// Of a slot in use.
  [[nodiscard]] const Job& at(JobSlot slot) const { return jobs_[slot]; }
  [[nodiscard]] JobSlot slot_of(const Job& job) const { return *index_.find(job.id); }
  /// Null when the slot is free.
  [[nodiscard]] const Job* in_slot(JobSlot slot) const { return jobs_.find(slot); }
  /// Slots in use are below this.
  [[nodiscard]] JobSlot slot_end() const { return jobs_.end(); }

  /// The same, with the body in memory. Throws std::runtime_error when it cannot be read.
  [[nodiscard]] const Job& with_body(JobSlot slot) const {
    const Job& job = jobs_[slot];
    if (job.is_spilled()) bodies_.load(job, slot);
    return job;
  }
  [[nodiscard]] const Job* find_with_body(JobId id) const {
    const auto slot = index_.find(id);
    return slot ? &with_body(*slot) : nullptr;
  }
  /// Of a job found before.
  void load_body(const Job& job) const {
    if (job.is_spilled()) (void)find_with_body(job.id);
  }
  [[nodiscard]] Bodies& bodies() const { return bodies_; }
  /// What is in memory, bodies and all else, about.
  [[nodiscard]] std::size_t memory_bytes() const { return bodies_.bytes() + other_memory_bytes(); }
  [[nodiscard]] std::size_t other_memory_bytes() const;

  /// The job's changeable part, to be altered and recorded.
  [[nodiscard]] static JobFields fields_of(const Job& job);

  [[nodiscard]] const TimeOrder& scheduled() const { return scheduled_; }
  [[nodiscard]] const TimeOrder& retrying() const { return retrying_; }
  [[nodiscard]] const TimeOrder& reserved() const { return reserved_; }
  [[nodiscard]] const TimeOrder& dead() const { return dead_; }
  /// Those of the dead that were pushed, which do not stay for ever.
  [[nodiscard]] const TimeOrder& dead_work_units() const { return dead_work_units_; }
  /// Jobs that have failed and are neither retrying nor dead, by their first failure.
  [[nodiscard]] const TimeOrder& failed_before() const { return failed_before_; }
  [[nodiscard]] std::uint64_t count(JobState state) const {
    return counts_[static_cast<std::size_t>(state)];
  }
  [[nodiscard]] std::uint64_t urgent_count() const { return urgent_count_; }
  [[nodiscard]] std::uint64_t worker_held_count() const { return worker_held_count_; }

  /// What a connection holds, by deadline; null when nothing.
  [[nodiscard]] const TimeOrder* held_by(ClientId client) const;

  using JobIds = absl::btree_set<JobId>;
  /// The jobs of that name that workers hold, the oldest first; null when none.
  [[nodiscard]] const JobIds* held_under(std::string_view jid) const;

  // ---- queues -----------------------------------------------------------------------------------

  /// Makes the queue if there is none. The caller then gives it a reason to exist, or collects it.
  QueueId open_queue(std::string_view name);
  [[nodiscard]] Queue* find_queue(std::string_view name);
  [[nodiscard]] const Queue* find_queue(std::string_view name) const;
  [[nodiscard]] Queue& queue(QueueId id) { return *queues_[id]; }
  [[nodiscard]] const Queue& queue(QueueId id) const { return *queues_[id]; }

  [[nodiscard]] bool has_queue(QueueId id) const { return queues_[id] != nullptr; }

  /// When pauses of queues end, soonest first; endless ones are not in it.
  using PauseEnds = absl::btree_set<std::pair<Time, QueueId>>;
  [[nodiscard]] const PauseEnds& pause_ends() const { return pause_ends_; }
  /// The first of them is over; the queue goes if nothing else needs it.
  void end_pause();

  /// Drops the queue when nothing needs it any more. A pause that ends with it is to be recorded,
  /// see `take_lost_pauses`.
  void collect_queue(QueueId id);

  /// The names of queues that were dropped before their pause was over, since the last call.
  [[nodiscard]] std::vector<std::string> take_lost_pauses() {
    return std::exchange(lost_pauses_, {});
  }
  [[nodiscard]] bool has_lost_pauses() const { return !lost_pauses_.empty(); }

  /// While the log is read a paused queue stays until its record says otherwise.
  void set_replaying(bool is_replaying) { is_replaying_ = is_replaying; }

  /// Place of creation to queue.
  using Creation = absl::btree_map<std::uint64_t, QueueId>;
  [[nodiscard]] const Creation& queues() const { return creation_; }
  [[nodiscard]] std::uint64_t next_creation() const { return next_creation_; }

  /// Those that are kept or have a ready job, in no order.
  [[nodiscard]] const std::vector<QueueId>& listed_queues() const { return listed_queues_; }

  // ---- the log ----------------------------------------------------------------------------------

  /// The batch of everything applied since the last call stands at `begin`.
  void place(Lsn begin);

  /// The job's whole record was written once more, with its body at this offset of the batch.
  void move_to_log_end(JobSlot slot, Lsn body_at);
  void move_to_log_end(const Queue& queue);

  /// Whose whole record stands first in the log; kNoJob when there are no jobs.
  [[nodiscard]] JobSlot oldest_job() const { return log_order_.oldest(); }
  /// The queue whose record, worth keeping, stands first; null when there is none.
  [[nodiscard]] const Queue* oldest_queue_record() const;
  /// True when the record stands there; false when it is newer or in the batch that collects.
  [[nodiscard]] bool stands_before(JobSlot job, Lsn before) const;
  [[nodiscard]] bool stands_before(const Queue& queue, Lsn before) const;

  /// Everything in the log before this position is obsolete, the totals left out.
  [[nodiscard]] Lsn oldest_needed() const;
  /// How long the log would be that held nothing obsolete, totals and days left out.
  [[nodiscard]] std::uint64_t live_bytes() const { return job_record_bytes_ + queue_record_bytes_; }

  // ---- counters ---------------------------------------------------------------------------------

  /// The totals as recorded; `next_id` is above every id and sequence seen.
  [[nodiscard]] const CountersChanged& counters() const { return counters_; }
  [[nodiscard]] const std::vector<DayCounts>& history() const { return history_; }

 private:
  void apply_one(JobAdded&& record);
  void apply_one(JobChanged&& record);
  void apply_one(JobRemoved&& record);
  void apply_one(QueueChanged&& record);
  void apply_one(CountersChanged&& record);
  void apply_one(HistoryChanged&& record);

  void erase(JobSlot slot);
  void spend(JobId id, Sequence sequence);
  static void set_fields(Job& job, JobFields&& fields);
  void enter_log(JobSlot slot, Lsn body_at);
  void leave_log(JobSlot slot);
  void spill_some();
  void forget_record(Queue& queue);
  void note_record(Queue& queue);
  void list_queue(Queue& queue);
  void enter_orders(JobSlot slot);
  void leave_orders(JobSlot slot);
  void enter_reserved(const Job& job, JobSlot slot);
  void leave_reserved(const Job& job, JobSlot slot);

  Slab<Job> jobs_;
  mutable Bodies bodies_;
  JobIndex index_;
  TimeOrder scheduled_;
  TimeOrder retrying_;
  TimeOrder reserved_;
  TimeOrder dead_;
  TimeOrder dead_work_units_;
  TimeOrder failed_before_;
  std::array<std::uint64_t, kJobStateCount> counts_{};
  std::uint64_t urgent_count_ = 0;
  std::uint64_t worker_held_count_ = 0;
  absl::flat_hash_map<ClientId, TimeOrder> held_by_client_;

  static constexpr std::size_t kJidShards = 256;
  using JidShard = TextMap<JobIds>;
  [[nodiscard]] JidShard& jid_shard(std::string_view jid);
  std::vector<JidShard> held_under_jid_;

  std::vector<std::unique_ptr<Queue>> queues_;
  std::vector<QueueId> free_queues_;
  TextMap<QueueId> queue_ids_;
  Creation creation_;
  std::vector<QueueId> listed_queues_;
  PauseEnds pause_ends_;
  std::uint64_t next_creation_ = 0;

  LogOrder log_order_;
  JobSlot first_unplaced_ = kNoJob;
  /// Every job that stands behind it in the log is spilled, or was brought back since.
  JobSlot newest_resident_ = kNoJob;
  bool is_replaying_ = false;
  std::vector<std::string> lost_pauses_;
  std::list<QueueId> queue_records_;  ///< in the order of the log
  std::uint64_t job_record_bytes_ = 0;
  std::uint64_t queue_record_bytes_ = 0;
  std::uint64_t all_body_bytes_ = 0;  ///< in memory or not

  static constexpr Lsn kNoRecord = UINT64_MAX;
  Lsn history_at_ = kNoRecord;  ///< 0: in the batch that collects

  CountersChanged counters_;
  std::vector<DayCounts> history_;
};

}  // namespace millrace
