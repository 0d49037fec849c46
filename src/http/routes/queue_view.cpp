#include "http/routes/queue_view.hpp"

#include <algorithm>

#include "core/model/features/served_queues.hpp"
#include "core/model/meter.hpp"
#include "http/routes/features/throttle_view.hpp"

namespace millrace::http {
namespace {

bool is_served(const Queue& queue, Time now) {
  if (queue.taker_count > 0) return true;
  return queue.fetched_at != Time{} && now - queue.fetched_at < kServedFor;
}

/// Jobs that it holds, and those that came or were run within the window of a rate.
double activity_of(const Queue& queue, Time now) {
  const auto held = static_cast<double>(queue.job_count());
  if (!queue.meter) return held;
  const double moved_per_s =
      queue.meter->enqueued.rate.per_second(now) + queue.meter->processed.rate.per_second(now);
  return held + moved_per_s * std::chrono::duration<double>(Rate::kWindow).count();
}

}  // namespace

bool QueueWalk::visit_some(const View& view, const std::function<void(const Queue&)>& visit,
                           std::size_t count) {
  if (!end_) end_ = view.queues().next_creation();
  next_ = view.queues().page(next_, *end_, count, visit);
  return next_ == *end_;
}

QueueFigures figures_of(const Queue& queue, const View& view, Time now) {
  QueueFigures figures;
  figures.queue = &queue;
  figures.ready = queue.ready.size();
  figures.reserved = queue.reserved_count;
  figures.scheduled = queue.scheduled_count();
  figures.retrying = queue.retrying_count;
  figures.dead = queue.dead.size();
  figures.expired = queue.expired_count;
  figures.oldest = view.jobs().oldest_ready(queue);
  figures.is_paused = queue.is_paused(now);
  figures.throttled = throttled_by(queue, now);
  figures.takers = queue.taker_count;
  figures.is_served = is_served(queue, now);
  // A queue has a meter once something happened to it.
  if (!queue.meter) return figures;
  figures.enqueued_rate = queue.meter->enqueued.rate.per_second(now);
  figures.processed_rate = queue.meter->processed.rate.per_second(now);
  figures.failed_rate = queue.meter->failed.rate.per_second(now);
  return figures;
}

Json show_figures(const QueueFigures& figures, WallClock clock) {
  const Queue& queue = *figures.queue;
  const bool ends = figures.is_paused && queue.paused_until != kNever;
  return {{"name", queue.name},
          {"ready", figures.ready},
          {"reserved", figures.reserved},
          {"scheduled", figures.scheduled},
          {"retrying", figures.retrying},
          {"dead", figures.dead},
          {"oldest_ready_at", show_time(figures.oldest, clock)},
          {"enqueued_per_s", show_rate(figures.enqueued_rate)},
          {"processed_per_s", show_rate(figures.processed_rate)},
          {"failed_per_s", show_rate(figures.failed_rate)},
          {"expired", figures.expired},
          {"is_paused", figures.is_paused},
          {"paused_until", ends ? show_time(queue.paused_until, clock) : Json(nullptr)},
          {"throttled", text_or_null(figures.throttled)},
          {"takers", figures.takers},
          {"is_served", figures.is_served}};
}

Json show_servers(const Queue& queue, const View& view, Time now) {
  Json shown = Json::array();
  for (const auto& [wid, worker] : view.workers()) {
    if (shown.size() == kServersShownMax) break;
    if (!worker.queues.has(queue.name, now)) continue;
    shown.push_back({{"wid", wid}, {"hostname", worker.hostname}, {"pid", worker.pid}});
  }
  return shown;
}

bool is_abandoned(const QueueFigures& figures, Time now) {
  return is_abandoned(*figures.queue, figures.oldest, now);
}

bool is_abandoned(const Queue& queue, Time oldest, Time now) {
  if (queue.ready.empty() || queue.is_paused(now) || is_served(queue, now)) return false;
  // A queue that was filled a moment ago may be waiting for its worker.
  if (now - oldest < kAbandonedAfter) return false;
  return !queue.meter || now - queue.meter->last_reserved_at >= kAbandonedAfter;
}

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
