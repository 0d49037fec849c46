#include "core/broker/features/slots.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace millrace {

void Slots::set_rules(ThrottleRules rules, Time now) {
  const bool is_first = !throttles().has_begun();
  throttles().set_rules(std::move(rules), now);
  refreshed_to_ = 0;
  if (!is_first) return;
  while (refreshed_to_) refresh_some(now);
  while (throttles().is_counting()) count_some(now);
  while (throttles().lines().has_work()) line_up_some(now);
}

void Slots::refresh(std::string_view name, Time now) {
  if (is_type_name(name)) {
    if (throttles().has_begun()) throttles().refresh_types(now);
    return;
  }
  Queue* const queue = parts_.ledger.store().queues().find(name);
  if (queue == nullptr || !throttles().has_begun()) return;
  throttles().refresh(*queue, now);
  // Also where nothing limits it any more.
  parts_.waits.serve_later(queue->id);
}

void Slots::work(Time now) {
  if (refreshed_to_) refresh_some(now);
  if (throttles().is_counting()) count_some(now);
  if (throttles().lines().has_work()) line_up_some(now);
  look_at_due(now);
  forget_full_buckets(now);
}

Time Slots::next_due() const {
  if (refreshed_to_ || throttles().is_counting() || throttles().lines().has_work()) return kAtOnce;
  return throttles().next_due();
}

void Slots::refresh_some(Time now) {
  Queues& queues = parts_.ledger.store().queues();
  auto place = queues.by_creation().lower_bound(*refreshed_to_);
  for (std::size_t looks = 0; looks < kSliceJobs; ++looks, ++place) {
    if (place == queues.by_creation().end()) return refreshed_to_.reset();
    Queue& queue = queues.at(place->second);
    const bool was_limited = queue.throttle != nullptr;
    throttles().refresh(queue, now);
    if (was_limited && queue.throttle == nullptr) parts_.waits.serve_later(queue.id);
  }
  // Queues that come later have the new limits from the beginning.
  refreshed_to_ = place == queues.by_creation().end() ? std::nullopt : std::optional(place->first);
}

/// In the order of their deadlines, which only become later: none is missed. Reservations that
/// begin meanwhile are counted as they begin.
void Slots::count_some(Time now) {
  Store& store = parts_.ledger.store();
  if (count_at_hand_ != throttles().counts_asked()) {
    count_at_hand_ = throttles().counts_asked();
    counted_to_.reset();
  }
  const TimeOrder& reserved = store.jobs().orders().reserved();
  auto place = counted_to_ ? reserved.upper_bound(*counted_to_) : reserved.begin();
  for (std::size_t looks = 0; looks < kSliceJobs; ++looks, ++place) {
    if (place == reserved.end()) {
      counted_to_.reset();
      return throttles().end_count();
    }
    counted_to_ = *place;
    count(store.jobs().at(place->slot), now);
  }
}

/// Against the limits that are counting.
void Slots::count(const Job& job, Time now) {
  Store& store = parts_.ledger.store();
  // A job without its body is of no type.
  if (throttles().are_types_counting()) static_cast<void>(store.jobs().load_body(job));
  throttles().count(store.queues().at(job.queue), job, now);
}

void Slots::line_up_some(Time now) {
  Store& store = parts_.ledger.store();
  const Jobs& jobs = store.jobs();
  throttles().line_up_some([&jobs](JobSlot slot) -> const Job& { return jobs.at(slot); });
  while (const std::optional<QueueId> id = throttles().lines().take_unfinished()) {
    Queue& queue = store.queues().at(*id);
    if (!queue.waiting.empty()) {
      parts_.waits.serve_later(*id);
      continue;
    }
    // Who asked does not wait. The rest is passed over now, one queue in a turn, so that the next
    // one who asks gets a job if there is one.
    const bool has_room = queue.throttle == nullptr || queue.throttle->has_room(now);
    if (queue.ready.empty() || !has_room) continue;
    static_cast<void>(throttles().next(
        queue, [&jobs](JobSlot slot) -> const Job& { return jobs.with_body(slot); }, now));
    break;
  }
}

void Slots::look_at_due(Time now) {
  for (std::size_t looks = 0; looks < kSliceJobs; ++looks) {
    Throttle* const throttle = throttles().table().alarms().take(now);
    if (throttle == nullptr) break;
    throttles().age(*throttle, now);
    throttles().free(*throttle);
    if (throttle->is_type) throttles().table().collect(*throttle);
  }
  std::vector<Throttle*> types;
  for (std::size_t looks = 0; looks < kSliceJobs; ++looks) {
    Throttle* const throttle = throttles().take_freed();
    if (throttle == nullptr) break;
    if (throttle->is_type) {
      types.push_back(throttle);
    } else {
      parts_.waits.serve_later(*throttle->queue);
    }
  }
  for (Throttle* const type : types) wake(*type, now);
}

/// Queues that were passed over for the type come in turn. One in which a client waits may take the
/// slot, and the next one is looked at when it was served.
void Slots::wake(Throttle& type, Time now) {
  if (type.parked.empty()) return;
  Queues& queues = parts_.ledger.store().queues();
  for (std::size_t looks = 0; looks < kSliceJobs; ++looks) {
    if (!type.has_room(now)) return throttles().table().alarms().await_token(type, now);
    const std::optional<QueueId> id = throttles().unpark(type);
    if (!id) return;
    if (queues.at(*id).waiting.empty()) continue;
    parts_.waits.serve_later(*id);
    break;
  }
  throttles().free(type);
}

void Slots::forget_full_buckets(Time now) {
  for (std::size_t forgotten = 0; forgotten < kSliceJobs; ++forgotten) {
    const Throttle* const throttle = throttles().table().first_full(now);
    if (throttle == nullptr) return;
    const std::string name = throttle->name;
    parts_.ledger.commit(ThrottleRemoved{.queue = name});
  }
}

}  // namespace millrace
