#include "core/broker/jobs/schedule.hpp"

#include <algorithm>

namespace millrace {

void Schedule::enqueue_due(Time now) {
  enqueue_due(store_.orders().scheduled(), tally_.scheduled_enqueued, now);
  enqueue_due(store_.orders().retrying(), tally_.retries_enqueued, now);
}

void Schedule::enqueue_due(const TimeOrder& order, std::uint64_t& count, Time now) {
  for (std::size_t moved = 0; moved < kSliceJobs; ++moved) {
    // Bounded by the batch too: a million jobs may be due at the same second.
    if (order.empty() || order.begin()->when > now || admission_.is_batch_full()) return;
    const Job& job = store_.jobs().at(order.begin()->slot);
    ++count;
    moves_.make_ready(job, job.fields(), now);
  }
}

Time Schedule::next_due() const {
  Time next = kNever;
  for (const TimeOrder* order : {&store_.orders().scheduled(), &store_.orders().retrying()}) {
    if (!order->empty()) next = std::min(next, order->begin()->when);
  }
  return next;
}

}  // namespace millrace
