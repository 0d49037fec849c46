#include "core/broker/jobs/schedule.hpp"

#include <algorithm>

namespace millrace {

void Schedule::enqueue_due(Time now) {
  enqueue_due(store_.scheduled(), tally_.scheduled_enqueued, now);
  enqueue_due(store_.jobs().orders().retrying(), tally_.retries_enqueued, now);
}

template <typename Order>
void Schedule::enqueue_due(const Order& order, std::uint64_t& count, Time now) {
  for (std::size_t moved = 0; moved < kSliceJobs; ++moved) {
    // Bounded by the batch too: a million jobs may be due at the same second.
    if (order.empty() || admission_.is_batch_full()) return;
    const TimeEntry first = *order.begin();
    if (first.when > now) return;
    const Job& job = store_.jobs().at(first.slot);
    ++count;
    moves_.make_ready(job, job.fields(), now);
  }
}

Time Schedule::next_due() const {
  const MergedDue scheduled = store_.scheduled();
  const TimeOrder& retrying = store_.jobs().orders().retrying();
  return std::min(scheduled.empty() ? kNever : (*scheduled.begin()).when,
                  retrying.empty() ? kNever : retrying.begin()->when);
}

}  // namespace millrace
