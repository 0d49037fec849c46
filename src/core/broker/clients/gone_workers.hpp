#pragma once

#include <absl/container/btree_set.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text_map.hpp"
#include "core/model/types.hpp"
#include "core/model/worker.hpp"

namespace millrace {

/// A worker without a connection that may hold jobs.
struct GoneWorker {
  std::string hostname;
  std::int64_t pid = 0;
  Time due = kNever;        ///< from then on its jobs come back, unless they stay
  bool keeps_jobs = false;  ///< they stay with it until their reservations run out
  bool holds_jobs = true;   ///< as far as the look at hand, or the last one, has seen
};

/// The workers that were connected, may hold jobs, and are not connected any more. Workers that
/// held jobs before the start count as gone since then, until they come back.
class GoneWorkers {
 public:
  /// More are not remembered: their jobs stay with them until their reservations run out. A look at
  /// all reservations begins and ends with a walk over these, in one turn.
  static constexpr std::size_t kCountMax = 10'000;

  enum class HeldJobs : std::uint8_t { kComeBack, kStay };

  /// To be called before any client connects.
  void begin(WorkerRules rules, Time now);
  [[nodiscard]] const WorkerRules& rules() const { return rules_; }

  /// Its last connection has closed. `alive_at` is the last sign of life.
  void add(const Worker& worker, Time alive_at, HeldJobs jobs);
  /// The worker is connected. True: it may hold jobs.
  bool remove(std::string_view wid);

  /// Null when it is connected, holds nothing, or is from before the start.
  [[nodiscard]] const GoneWorker* find(std::string_view wid) const;
  /// The look at hand has met a job that it holds and keeps.
  void note_holding(std::string_view wid);

  [[nodiscard]] std::size_t count() const { return workers_.size(); }

  /// When a worker has been gone for the whole time.
  [[nodiscard]] Time next_due() const;

  /// All reservations are looked at from now on; what is lost by now comes back.
  void begin_look(Time now);
  /// Whether the jobs of that worker are to come back, which is not connected. `is_from_before`:
  /// it has the job since before the start.
  [[nodiscard]] bool is_lost(const GoneWorker* worker, bool is_from_before) const;
  /// All were. Workers that hold nothing are forgotten.
  void end_look();

 private:
  WorkerRules rules_;
  TextMap<GoneWorker> workers_;
  absl::btree_set<std::pair<Time, std::string>> due_;
  Time start_due_ = kNever;  ///< when workers from before the start are lost; kNever: they were
  Time look_began_{};
  bool looks_before_start_ = false;  ///< in the look at hand
};

}  // namespace millrace
