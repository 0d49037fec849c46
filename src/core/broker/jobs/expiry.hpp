#pragma once

#include <deque>

#include "core/broker/admission_control.hpp"
#include "core/broker/clients/worker_registry.hpp"
#include "core/broker/jobs/job_moves.hpp"
#include "core/broker/jobs/retries.hpp"
#include "core/broker/view.hpp"

namespace millrace {

/// Ends the reservations that their holders do not end: the deadline has passed, or the connection
/// is closed.
class Expiry {
 public:
  /// The parts that it works on. They outlive it.
  struct Parts {
    const Store& store;
    const AdmissionControl& admission;
    const WorkerRegistry& workers;
    GoneWorkers& gone;
    JobEvents& events;
    JobMoves& moves;
    AttemptLog& attempts;
    Retries& retries;
    Tally& tally;
  };
  explicit Expiry(Parts parts) : parts_(parts) {}

  /// The connection is closed: the jobs that it held become ready, at most a slice of them at once
  /// and the others by `release_departed`. A worker's jobs stay reserved.
  void depart(ClientId client, Time now);

  /// At most a slice, of one connection.
  void release_departed(Time now);
  /// At most a slice: a connection's job becomes ready, a worker's has failed, unless its
  /// reservations do not run out.
  void end_due(Time now);

  /// When one of these has something to do.
  [[nodiscard]] Time next_due() const;

 private:
  [[nodiscard]] bool release_all(ClientId client, Time now);
  void end(const Job& job, Time now);

  Parts parts_;
  std::deque<ClientId> departed_;  ///< closed connections that still hold jobs
};

}  // namespace millrace
