#pragma once

#include <optional>

#include "core/broker/admission_control.hpp"
#include "core/broker/clients/gone_workers.hpp"
#include "core/broker/jobs/attempt_log.hpp"
#include "core/broker/jobs/job_moves.hpp"
#include "core/broker/jobs/retries.hpp"
#include "core/broker/view.hpp"
#include "core/model/order.hpp"
#include "core/model/worker.hpp"
#include "core/ports/loss_watch.hpp"

namespace millrace {

/// Brings back the jobs of workers that are gone. They are found by looking at all reservations, in
/// slices, whenever a worker is lost: so that a FETCH costs nothing for it.
class LostJobs {
 public:
  /// The parts that it works on. They outlive it.
  struct Parts {
    Store& store;
    const AdmissionControl& admission;
    GoneWorkers& gone;
    const Workers& workers;
    AttemptLog& attempts;
    JobMoves& moves;
    Retries& retries;
    Tally& tally;
  };
  explicit LostJobs(Parts parts) : parts_(parts) {}

  /// At most a slice. While records must not grow, the jobs stay where they are.
  void work(Time now);
  /// When it has something to do.
  [[nodiscard]] Time next_due() const;

  /// See `Broker::watch_losses`.
  void watch(LossWatch* watch) { watch_ = watch; }

 private:
  void look(Time now);
  [[nodiscard]] bool is_lost(const Job& job);
  void bring_back(const Job& job, Time now);

  Parts parts_;
  bool is_looking_ = false;
  std::optional<TimeEntry> looked_to_;  ///< the last reservation that was looked at
  Time next_look_ = kAtOnce;
  LossWatch* watch_ = nullptr;
};

}  // namespace millrace
