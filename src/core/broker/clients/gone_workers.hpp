#pragma once

#include <absl/container/btree_set.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text_map.hpp"
#include "core/model/job.hpp"
#include "core/model/types.hpp"
#include "core/model/worker.hpp"

namespace millrace {

/// A worker without a connection that may hold jobs.
struct GoneWorker {
  std::string hostname;
  std::int64_t pid = 0;
  Time due = kNever;        ///< from then on it is lost
  bool keeps_jobs = false;  ///< it is never lost: it said END, or the server closed its connection
  bool has_beaten = false;  ///< else only jobs with `job_marks::kHolderBeats` come back
  bool holds_jobs = true;   ///< as far as the look at hand, or the last one, has seen
};

/// The workers that were connected, may hold jobs, and are not connected any more. Workers that
/// held jobs before the start count as gone since then, until they come back.
class GoneWorkers {
 public:
  /// More are not remembered: their jobs stay with them until their reservations run out. A look at
  /// all reservations begins and ends with a walk over these, in one turn.
  static constexpr std::size_t kCountMax = 10'000;

  /// To be called before any client connects. `are_jobs_held`: by workers of before the start.
  void begin(WorkerRules rules, bool are_jobs_held, Time now);
  [[nodiscard]] const WorkerRules& rules() const { return rules_; }

  /// Its last connection has closed.
  void add(const Worker& worker, bool keeps_jobs, Time now);
  /// The worker is connected. True: it may hold jobs.
  bool remove(std::string_view wid);

  /// Null when it is connected, holds nothing, or is from before the start.
  [[nodiscard]] const GoneWorker* find(std::string_view wid) const;
  /// The look at hand has met a job that this worker, which is not connected, holds and keeps.
  void note_holding(std::string_view wid);

  [[nodiscard]] std::size_t count() const { return workers_.size(); }

  /// The worker has, or had, a job: what it reports is about its own runs. Of so many workers this
  /// is remembered, until the process ends; the oldest are forgotten.
  static constexpr std::size_t kTakersMax = 100'000;
  void note_taker(std::string_view wid);
  [[nodiscard]] bool is_taker(std::string_view wid) const { return takers_.contains(wid); }

  /// When a worker has been gone for the whole time.
  [[nodiscard]] Time next_due() const;

  /// All reservations are looked at from now on; what is lost by now comes back.
  void begin_look(Time now);
  /// Whether the running job is to come back. Its worker is not connected; null: it was not since
  /// the start, or holds nothing that was taken since.
  [[nodiscard]] bool is_lost(const GoneWorker* worker, const Job& job) const;
  /// All were. Workers that hold nothing are forgotten.
  void end_look();

 private:
  WorkerRules rules_;
  TextMap<GoneWorker> workers_;
  absl::btree_set<std::pair<Time, std::string>> due_;
  TextSet takers_;
  std::deque<std::string> taker_order_;  ///< the oldest first
  Time start_due_ = kNever;  ///< when workers from before the start are lost; kNever: they were
  Time start_ends_{};        ///< until then workers from before the start may come back
  Time look_began_{};
  bool looks_before_start_ = false;  ///< in the look at hand
  /// Workers that did not come back may hold jobs from before the start, and in the look at hand
  /// one was seen.
  bool has_unknown_holders_ = false;
  bool has_seen_unknown_ = false;
};

}  // namespace millrace
