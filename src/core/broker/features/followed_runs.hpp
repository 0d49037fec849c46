#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/broker/features/type_meters.hpp"
#include "core/broker/view.hpp"
#include "core/ports/failure_watch.hpp"
#include "core/state/ledger.hpp"

namespace millrace {

/// Measures what another server does, by the records that it has made: so that after a takeover
/// queues and types know their past. What a record does not tell is left out: how long a job of a
/// connection waited and ran, of which type it was, and which jobs were not stored.
class FollowedRuns {
 public:
  /// All of them outlive this.
  FollowedRuns(Ledger& ledger, Tally& tally, TypeMeters& types)
      : ledger_(ledger), tally_(tally), types_(types) {}

  /// As `Ledger::replay`.
  [[nodiscard]] Outcome<Done> replay(std::string_view batch, Lsn begin, Time now);

  /// See `Broker::watch_failures`.
  void watch_failures(FailureWatch* watch) { watch_ = watch; }

 private:
  void replay(Record&& record);

  // Before the record is applied.
  void note(const JobAdded& record);
  void note(const JobChanged& record);
  void note(const JobRemoved& record);
  void note(const AttemptEnded& record);
  void note(const CountersChanged& record);
  void note(const auto& /*record*/) {}

  void note_failure(JobId id, const JobFields& fields);
  void count_put(JobId id);
  void count_run(const Job& job, RunEnd end, Duration took);

  Ledger& ledger_;
  Tally& tally_;
  TypeMeters& types_;
  FailureWatch* watch_ = nullptr;

  Time now_{};
  /// What the clock of this server is ahead of the other one's, at most. Nothing tells it exactly:
  /// the log has times that have passed.
  std::optional<Duration> ahead_;
  JobId put_ = 0;            ///< the job that the record at hand adds; 0: none
  JobId failed_ = 0;         ///< its record that tells of the failure comes next; 0: none
  std::vector<Record> one_;  ///< the record at hand
  // Of the batch at hand.
  std::uint64_t runs_ = 0;  ///< that were counted
  /// Queues of jobs that were removed while no worker held them: by connections that held them, or
  /// for another reason. The totals tell how many ran.
  std::vector<std::string> removed_from_;
};

}  // namespace millrace
