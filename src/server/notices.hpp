#pragma once

#include <cstdint>
#include <string>

#include "core/ports/journal.hpp"
#include "core/ports/loss_watch.hpp"
#include "core/state/ledger.hpp"
#include "server/process/logging.hpp"

namespace millrace::server {

/// Tells the log what operators should know of jobs and of the room for them: once for each change,
/// and seldom for what goes on.
class Notices final : public LossWatch {
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
  void shared_log(const std::string& problem, Time now) { storing_.tell(log_, problem, now); }

  /// What keeps this server from following a shared log; empty: nothing does.
  void following(const std::string& problem, Time now) { following_.tell(log_, problem, now); }

  /// Two servers that follow have this name.
  void name_used_twice(const std::string& node, Time now);

  /// A server that says that it is the node `claimed` (empty: none) told this one of itself.
  void report_refused(const std::string& claimed, const std::string& reason, Time now);

  /// A client of that port is none of the users.
  void stranger(const char* port, int descriptor, Time now);

  /// The ports of that leader to which this server cannot pass clients on. Empty: none.
  void leader_out_of_reach(const std::string& node, const std::string& ports, Time now);

  void on_taken_back(const Job& job, const Queue& queue, JobState next, Time now) override;
  void on_body_unreadable(const Job& job, const Queue& queue, std::string_view why) override;

  /// Why this server reports nothing to what is at the address of that leader. Empty: it does.
  void leader_not_trusted(const std::string& node, const std::string& problem, Time now);

  /// How many jobs asked for a lock without a time since the process began.
  void locks_without_time(std::uint64_t count);

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
  ProblemPeriod storing_{
      {.begun = "log_does_not_store", .over = "log_stores_again", .gap = kProblemAgain}};
  ProblemPeriod following_{{.begun = "cannot_follow", .over = "following", .gap = 5s}};
  LogLimit names_used_twice_{60s};
  LogLimit reports_refused_{60s};
  LogLimit strangers_{10s};
  LogLimit out_of_reach_{1h};
  LogLimit not_trusted_{60s};
  bool is_disk_full_ = false;      ///< as logged
  bool is_memory_full_ = false;    ///< likewise
  bool is_lock_reported_ = false;  ///< that one was asked for without a time
};

}  // namespace millrace::server
