#include "core/broker/features/expired_jobs.hpp"

#include "core/broker/queue_guard.hpp"

namespace millrace {

bool ExpiredJobs::clear_some(Queue& queue, Time now) {
  const QueueId id = queue.id;
  const Time wall = store_.wall_clock().shown(now);
  {
    // The line is used after its last job is gone.
    const QueueGuard guard(queue);
    for (std::size_t removed = 0; removed < kFrontMax; ++removed) {
      if (queue.ready.empty()) break;
      const Job& job = store_.jobs().at(queue.ready.begin()->slot);
      if (!job.has_expired(wall)) return true;
      remove(job, now);
    }
  }
  store_.queues().collect(id);
  return false;
}

bool ExpiredJobs::remove_expired(const Job& job, Time now) {
  if (!job.has_expired(store_.wall_clock().shown(now))) return false;
  remove(job, now);
  return true;
}

void ExpiredJobs::remove(const Job& job, Time now) {
  ++tally_.jobs_expired;
  ++store_.queues().at(job.queue).expired_count;
  events_.remove(job, JobEnd::kExpired, now);
}

Time ExpiredJobs::next_due() const {
  const TimeOrder& expiring = store_.jobs().orders().expiring();
  if (expiring.empty()) return kNever;
  return store_.wall_clock().steady(expiring.begin()->when);
}

}  // namespace millrace
