#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "core/broker/admission_control.hpp"
#include "core/broker/features/unreadable_bodies.hpp"
#include "core/broker/jobs/attempt_log.hpp"
#include "core/broker/jobs/job_moves.hpp"
#include "core/broker/jobs/random_numbers.hpp"
#include "core/broker/jobs/reservations.hpp"
#include "core/broker/jobs/retry_policy.hpp"
#include "core/broker/requests.hpp"
#include "core/ports/failure_watch.hpp"
#include "core/ports/work_unit.hpp"
#include "core/state/ledger.hpp"

namespace millrace {

/// Records failed runs: the job is retried after a back-off, dies, or is dropped, as its work unit
/// asks for (`judge`).
class Retries {
 public:
  /// The parts that it works on. They outlive it.
  struct Parts {
    Ledger& ledger;
    const WorkUnitFormat& format;
    const AdmissionControl& admission;
    Reservations& reservations;
    JobEvents& events;
    AttemptLog& attempts;
    JobMoves& moves;
    UnreadableBodies& unreadable;
  };

  /// The random parts of back-offs follow from the seed.
  Retries(Parts parts, std::uint64_t random_seed) : parts_(parts), random_(random_seed) {}

  /// The run of this reserved job has failed; where its worker is lost, the job dies. While records
  /// must not grow, the run's texts are left out, and it is not among the job's attempts. A job
  /// whose body cannot be read dies.
  void fail(const Job& job, FailedRun run, Time now);

  /// See `AdminOperations::set_retry_delays`.
  void set_delays(FindRetryDelays find) { find_delays_ = std::move(find); }
  /// What a job asks for, whose body is in memory.
  [[nodiscard]] std::optional<RetryDelays> delays_of(const Job& job) const;

  /// See `Broker::watch_failures`.
  void watch_failures(FailureWatch* watch) { watch_ = watch; }

 private:
  Parts parts_;
  RandomNumbers random_;
  FindRetryDelays find_delays_;
  FailureWatch* watch_ = nullptr;
};

}  // namespace millrace
