#pragma once

#include <cstddef>
#include <cstdint>

#include "core/broker/clients/waits.hpp"
#include "core/broker/jobs/job_events.hpp"
#include "core/broker/requests.hpp"
#include "core/state/ledger.hpp"

namespace millrace {

/// The moves of jobs from state to state, but for the reservation (`Reservations`) and the failure
/// (`Retries`). Each commits one record for the job.
///
/// `fields` are those of the job, with the caller's changes; each move sets the rest. After a move
/// a waiting client may hold the job already, and the queue of a removed job may be gone.
class JobMoves {
 public:
  /// All of them outlive this.
  JobMoves(Ledger& ledger, JobEvents& events, Waits& waits)
      : ledger_(ledger), events_(events), waits_(waits) {}

  /// The job, which is in another state, enters its queue. A client that waits for it has it when
  /// this returns.
  void make_ready(const Job& job, JobFields fields, Time now);
  /// The reserved job becomes ready at `due`.
  void make_scheduled(const Job& job, JobFields fields, Time due, Time now);
  /// The job dies, or its time of death is renewed.
  void make_dead(const Job& job, JobFields fields, Time now);
  /// The scheduled, retrying or dead job becomes ready. False: it stays, since it is dead, and
  /// another job holds its lock or its body cannot be read (`JobEvents::may_come_back`).
  [[nodiscard]] bool kick(const Job& job, Time now);
  /// The same at `due`. Until then it is scheduled.
  [[nodiscard]] bool kick_later(const Job& job, Time due, Time now);

  /// The held job becomes ready, and this counts as a release.
  void release(const Job& job, Time now);
  /// The held job is ready again in its old place, as if it had never been reserved.
  void undo_reservation(const Job& job, Time now);

  /// The job, which nobody holds, is in that queue from now on, in the place that its age and
  /// priority give it there. All else of it stays: id, state, times, failures, lock and batch. A
  /// job that is there already is left alone. False: so is one whose body cannot be read.
  bool move(const Job& job, std::string_view to, Time now);

  /// The job is gone.
  void remove(const Job& job, JobEnd end, Time now);
  /// How many plain jobs take as long to remove as this one, for slices of long operations. One
  /// with features also changes locks, tracks and batches, and that of a push may be remembered.
  [[nodiscard]] std::size_t steps_to_remove(const Job& job, JobEnd end) const {
    constexpr std::size_t kStepsOfMore = 3;
    return job.features || events_.remembers(job, end) ? kStepsOfMore : 1;
  }
  /// The same, counted in its queue as a client's delete.
  void discard(const Job& job, JobEnd end, Time now);

  /// One of the moves above. False: the job stays as it is.
  bool change(const Job& job, Mutation::Action action, Time now, std::string_view to = {});

  /// The job is ready again in its old place. Clients that wait are served by the next tick.
  void serve_again(const Job& job);
  /// The queue stays when it is empty, as one does that work units were pushed to.
  void keep_queue(const Queue& queue);

 private:
  Ledger& ledger_;
  JobEvents& events_;
  Waits& waits_;
};

}  // namespace millrace
