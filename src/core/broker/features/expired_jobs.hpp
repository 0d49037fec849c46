#pragma once

#include "core/broker/admission_control.hpp"
#include "core/broker/jobs/job_events.hpp"
#include "core/broker/view.hpp"

namespace millrace {

/// Removes the jobs that may not be run any more since the time that their client gave them is
/// over: when it is over, and at the latest when one of them would be handed out. Jobs that run
/// already and dead ones are left alone.
class ExpiredJobs {
 public:
  /// All of them outlive this.
  ExpiredJobs(Store& store, const AdmissionControl& admission, JobEvents& events, Tally& tally)
      : store_(store), admission_(admission), events_(events), tally_(tally) {}

  /// Removes expired jobs from the front of the queue's line, a few at most. True: the first job is
  /// one to run. False: there is none, or more have expired; `remove_due` then comes to them, and
  /// the queue may be gone.
  [[nodiscard]] bool clear_front(Queue& queue, Time now) {
    // Nearly always: no job of the queue ever expires.
    if (queue.expiring_count == 0) return !queue.ready.empty();
    return clear_some(queue, now);
  }

  /// Removes the job if it has expired. True: it did.
  [[nodiscard]] bool remove_expired(const Job& job, Time now);

  /// Removes a slice of those that have expired, and tells `visit` the queue of each ready one.
  /// That queue may be gone.
  template <typename Visit>
  void remove_due(Time now, Visit&& visit) {
    const Time wall = store_.wall_clock().shown(now);
    const TimeOrder& expiring = store_.jobs().orders().expiring();
    for (std::size_t removed = 0; removed < kSliceJobs; ++removed) {
      if (expiring.empty() || expiring.begin()->when > wall || admission_.is_batch_full()) return;
      const Job& job = store_.jobs().at(expiring.begin()->slot);
      const QueueId queue = job.queue;
      const bool is_ready = job.state == JobState::kReady;
      remove(job, now);
      if (is_ready) visit(queue);
    }
  }

  /// So many are removed for a client that asks for a job. It may ask for a thousand queues.
  static constexpr std::size_t kFrontMax = 8;

  /// When `remove_due` has something to do.
  [[nodiscard]] Time next_due() const;

 private:
  [[nodiscard]] bool clear_some(Queue& queue, Time now);
  void remove(const Job& job, Time now);

  Store& store_;
  const AdmissionControl& admission_;
  JobEvents& events_;
  Tally& tally_;
};

}  // namespace millrace
