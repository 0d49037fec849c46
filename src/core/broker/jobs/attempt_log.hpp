#pragma once

#include "core/broker/admission_control.hpp"
#include "core/broker/clients/gone_workers.hpp"
#include "core/model/features/attempt.hpp"
#include "core/model/worker.hpp"
#include "core/state/ledger.hpp"

namespace millrace {

/// Records the runs that did not end well, with what held the job.
class AttemptLog {
 public:
  /// All of them outlive this.
  AttemptLog(Ledger& ledger, const AdmissionControl& admission, const Workers& workers,
             const GoneWorkers& gone)
      : ledger_(ledger), admission_(admission), workers_(workers), gone_(gone) {}

  /// The run of this reserved job has just ended: `attempt` says how, and the rest is filled in. To
  /// be called before the job changes. Nothing is recorded while records must not grow.
  void note(const Job& job, Attempt attempt, Time now);
  /// The run that was taken from this worker has ended well, and another worker runs the job by
  /// now.
  void note_ended_late(const Job& job, std::string_view wid);

 private:
  Ledger& ledger_;
  const AdmissionControl& admission_;
  const Workers& workers_;
  const GoneWorkers& gone_;
};

}  // namespace millrace
