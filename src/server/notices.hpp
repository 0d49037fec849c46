#pragma once

#include <cstdint>
#include <string>

#include "core/ports/journal.hpp"
#include "core/state/ledger.hpp"
#include "server/process/logging.hpp"

namespace millrace::server {

/// Tells the log what operators should know of the room for jobs: once for each change, and seldom
/// for what goes on.
class Notices {
 public:
  /// All outlive it.
  Notices(const Log& log, const Ledger& ledger, const Journal& journal)
      : log_(log), ledger_(ledger), journal_(journal) {}

  /// Whether there is room now.
  void disk(bool is_full);
  void memory(bool is_full);

  /// `admission` holds from now on, and `before` held until now.
  void admission(Admission before, Admission admission, Time now);

  /// What keeps the shared log from storing what this server leads with; empty: nothing does.
  void shared_log(const std::string& problem, Time now);

  /// What keeps this server from following a shared log; empty: nothing does.
  void following(const std::string& problem, Time now);

  /// How many segments compaction has removed since the process began.
  void removed_segments(std::uint64_t count, Time now);

 private:
  const Log& log_;
  const Ledger& ledger_;
  const Journal& journal_;
  LogLimit removals_{10s};
  LogLimit growth_refused_{1s};
  LogLimit reservations_refused_{1s};
  std::uint64_t segments_logged_ = 0;
  LogLimit log_problems_{60s};
  bool has_log_problem_ = false;             ///< as logged
  bool is_disk_full_ = false;                ///< as logged
  bool is_memory_full_ = false;              ///< likewise
  Time follow_problem_after_ = Time::min();  ///< when the next one may be logged
  bool is_cut_off_ = false;                  ///< as logged
};

/// What goes on is told again after the first; and what comes back so soon is not told.
inline constexpr Duration kNoticeAgain = std::chrono::minutes(1);
inline constexpr Duration kNoticeGap = std::chrono::seconds(5);

}  // namespace millrace::server
