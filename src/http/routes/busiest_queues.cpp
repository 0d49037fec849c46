#include "http/routes/busiest_queues.hpp"

#include <algorithm>

#include "core/model/meter.hpp"

namespace millrace::http {
namespace {

/// Jobs that it holds, and those that came or were run within the window of a rate.
double activity_of(const Queue& queue, Time now) {
  const auto held = static_cast<double>(queue.job_count());
  if (!queue.meter) return held;
  const double moved_per_s =
      queue.meter->enqueued.rate.per_second(now) + queue.meter->processed.rate.per_second(now);
  return held + moved_per_s * std::chrono::duration<double>(Rate::kWindow).count();
}

}  // namespace

void BusiestQueues::look_at(const Queue& queue, Time now) {
  const auto is_before = [](const Entry& a, const Entry& b) { return a.is_before(b); };
  const Entry entry{.activity = activity_of(queue, now), .place = queue.created};
  // The front of the heap is the least busy of those kept: only a busier queue replaces it.
  if (heap_.size() == count_max_) {
    if (!entry.is_before(heap_.front())) return;
    std::pop_heap(heap_.begin(), heap_.end(), is_before);
    heap_.back() = entry;
  } else {
    heap_.push_back(entry);
  }
  std::push_heap(heap_.begin(), heap_.end(), is_before);
}

std::vector<std::uint64_t> BusiestQueues::places() const {
  std::vector<std::uint64_t> places;
  places.reserve(heap_.size());
  for (const Entry& entry : heap_) places.push_back(entry.place);
  std::sort(places.begin(), places.end());
  return places;
}

}  // namespace millrace::http
