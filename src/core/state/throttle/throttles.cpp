#include "core/state/throttle/throttles.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace millrace {

// ---- limits -------------------------------------------------------------------------------------

void Throttles::refresh(Queue& queue, Time now) {
  look_for_limits(queue, now);
}

void Throttles::opened(Queue& queue) {
  if (has_begun_) look_for_limits(queue, std::nullopt);
}

void Throttles::dropped(Queue& queue) {
  if (Throttle* const throttle = queue.throttle) {
    put_out_of_force(*throttle);
    table_.collect(*throttle);
  }
  lines_.dismiss(queue);
}

std::pair<ThrottleLimits, std::string> Throttles::wanted(const Throttle* throttle,
                                                         std::string_view name) const {
  if (throttle != nullptr && throttle->by_hand) return {*throttle->by_hand, ""};
  const ThrottleRule* const rule = rules_.rule_of(name);
  if (rule == nullptr) return {};
  return {rule->limits, rule->pattern};
}

void Throttles::look_for_limits(Queue& queue, std::optional<Time> now) {
  // No protocol allows such a queue, and its limits would be those of a type.
  if (is_type_name(queue.name)) return;
  auto [limits, rule] = wanted(table_.find(queue.name), queue.name);
  if (limits.has_any()) {
    Throttle& throttle = table_.open(queue.name);
    throttle.rule = std::move(rule);
    put_in_force(throttle, queue, limits);
    if (now) bound_bucket(throttle, *now);
  } else if (Throttle* const throttle = queue.throttle) {
    put_out_of_force(*throttle);
    table_.collect(*throttle);
  }
}

/// The rate may have been lower before.
void Throttles::bound_bucket(Throttle& throttle, Time now) {
  if (!throttle.limits.has_rate()) return;
  const Time bounded = TokenBucket(throttle.limits).bounded(throttle.full_at, now);
  if (bounded != throttle.full_at) table_.set_full_at(throttle, bounded);
}

void Throttles::put_in_force(Throttle& throttle, Queue& queue, const ThrottleLimits& limits) {
  const bool is_new = !throttle.queue;
  if (!is_new && limits == throttle.limits) return;
  const bool had_slots = !is_new && throttle.limits.has_slots();
  const bool has_same_keys = (limits.per_key != 0) == (throttle.limits.per_key != 0);
  const bool has_same_slots = had_slots && limits.has_slots() && has_same_keys &&
                              limits.timeout_s == throttle.limits.timeout_s;
  if (!has_same_slots) forget_slots(throttle);
  throttle.limits = limits;
  throttle.queue = queue.id;
  queue.throttle = &throttle;
  if (!has_same_keys) set_keys(throttle, queue, limits.per_key != 0);
  if (!has_same_slots && limits.has_slots() && queue.reserved_count > 0) begin_count(throttle);
  if (queue.lines != nullptr) queue.lines->open_keys();
  free(throttle);
}

/// Those that wait are served by whoever calls this.
void Throttles::put_out_of_force(Throttle& throttle) {
  CHECK(throttle.queue);
  forget_slots(throttle);
  table_.alarms().clear(throttle);
  Queue& queue = queues_.at(*throttle.queue);
  if (throttle.limits.per_key != 0) set_keys(throttle, queue, false);
  queue.throttle = nullptr;
  throttle.queue.reset();
  throttle.limits = {};
  throttle.rule.clear();
  throttle.is_freed = false;
  throttle.held = throttle.overage = throttle.reclaimed = 0;
}

void Throttles::set_keys(Throttle& throttle, Queue& queue, bool has_keys) {
  if (has_keys) {
    throttle.is_lining_up = !lines_.open(queue, true).is_complete();
  } else {
    lines_.dismiss(queue);
    throttle.is_lining_up = false;
  }
}

void Throttles::begin_count(Throttle& throttle) {
  ++counts_asked_;
  if (!std::exchange(throttle.is_counting, true)) counting_.push_back(throttle.place);
}

// ---- slots --------------------------------------------------------------------------------------

void Throttles::enter(Queue& queue, const Job& job) {
  if (queue.throttle != nullptr) take_slot(*queue.throttle, job);
  if (has_types_) enter_type(job);
}

void Throttles::leave(Queue& queue, const Job& job) {
  if (queue.throttle != nullptr) give_back(*queue.throttle, job);
  if (has_types_) leave_type(job);
}

/// Before the reservation changes or ends. Whether it counts.
bool Throttles::take_slot(Throttle& throttle, const Job& job) {
  CHECK(job.reservation() != nullptr);
  const Reservation& held = *job.reservation();
  if (!throttle.limits.has_slots() || held.reserved_at <= throttle.aged_at) return false;
  Slot slot{.reserved_at = held.reserved_at, .job = job.id};
  // The count may have met it already.
  if (throttle.slots.contains(slot)) return true;
  slot.holder = &holders_.take(held, throttle.place);
  if (throttle.limits.per_key != 0) {
    slot.key = queues_.at(*throttle.queue).lines->take_slot(job);
  }
  throttle.slots.insert(slot);
  // Nearly always it is the newest. After a start they come in the order of their deadlines.
  if (throttle.slots.begin()->job == job.id) {
    table_.alarms().set(throttle, held.reserved_at + throttle.limits.timeout());
  }
  return true;
}

bool Throttles::take_slot_unless_aged(Throttle& throttle, const Job& job, Time now) {
  const Time began = job.reservation()->reserved_at;
  const bool is_too_old = began + throttle.limits.timeout() <= now;
  // It must not be entered when it is touched, either.
  if (is_too_old) throttle.aged_at = std::max(throttle.aged_at, began);
  return !is_too_old && take_slot(throttle, job);
}

void Throttles::give_back(Throttle& throttle, const Job& job) {
  CHECK(job.reservation() != nullptr);
  const auto found =
      throttle.slots.find(Slot{.reserved_at = job.reservation()->reserved_at, .job = job.id});
  // It is too old to count, or was not counted yet.
  if (found == throttle.slots.end()) return;
  const Slot slot = *found;
  throttle.slots.erase(found);
  release(throttle, slot);
  free(throttle);
}

void Throttles::release(Throttle& throttle, const Slot& slot) {
  if (throttle.is_type) type_slots_.erase(slot.job);
  if (slot.key != nullptr) slot.key->owner->give_back(*slot.key);
  holders_.give_back(*slot.holder, throttle.place);
}

/// As many as run at a time.
void Throttles::forget_slots(Throttle& throttle) {
  for (const Slot& slot : throttle.slots) release(throttle, slot);
  throttle.slots.clear();
  throttle.aged_at = Time::min();
  if (std::exchange(throttle.is_counting, false)) std::erase(counting_, throttle.place);
}

void Throttles::age(Throttle& throttle, Time now) {
  const Duration timeout = throttle.limits.timeout();
  for (std::size_t aged = 0; aged < kSliceJobs && !throttle.slots.empty(); ++aged) {
    const Slot oldest = *throttle.slots.begin();
    if (oldest.reserved_at + timeout > now) break;
    throttle.slots.erase(throttle.slots.begin());
    throttle.aged_at = oldest.reserved_at;
    ++throttle.overage;
    release(throttle, oldest);
    free(throttle);
  }
  if (!throttle.slots.empty()) {
    table_.alarms().set(throttle, throttle.slots.begin()->reserved_at + timeout);
  }
}

void Throttles::count_begun(Throttle& throttle, Time now) {
  ++throttle.held;
  if (!throttle.limits.has_rate()) return;
  table_.set_full_at(throttle, TokenBucket(throttle.limits).taken(throttle.full_at, now));
}

void Throttles::count_undone(Throttle& throttle) {
  throttle.held -= std::min<std::uint64_t>(throttle.held, 1);
  if (!throttle.limits.has_rate() || throttle.full_at == Time{}) return;
  table_.set_full_at(throttle, TokenBucket(throttle.limits).given_back(throttle.full_at));
}

bool Throttles::admits(const Throttle& throttle, std::string_view wid, ClientId connection) const {
  const std::uint32_t most = throttle.limits.worker;
  return most == 0 || holders_.count(wid, wid.empty() ? connection : 0, throttle.place) < most;
}

void Throttles::count_reclaimed(const Job& job) {
  const Slot slot{.reserved_at = job.reservation()->reserved_at, .job = job.id};
  Throttle* const of_queue = queues_.at(job.queue).throttle;
  if (of_queue != nullptr && of_queue->slots.contains(slot)) ++of_queue->reclaimed;
  const auto of_type = type_slots_.find(job.id);
  if (of_type != type_slots_.end()) ++table_.at(of_type->second).reclaimed;
}

// ---- what is to be done -------------------------------------------------------------------------

void Throttles::free(Throttle& throttle) {
  // Any of the clients that were passed over may be served now.
  throttle.passed_over = 0;
  if (!std::exchange(throttle.is_freed, true)) freed_.push_back(throttle.place);
}

Throttle* Throttles::take_freed() {
  while (!freed_.empty()) {
    Throttle* const throttle = table_.if_there(freed_.back());
    freed_.pop_back();
    if (throttle == nullptr || !std::exchange(throttle->is_freed, false)) continue;
    if (throttle->is_in_force()) return throttle;
  }
  return nullptr;
}

void Throttles::end_count() {
  are_types_counting_ = false;
  for (const Place place : counting_) {
    Throttle* const throttle = table_.if_there(place);
    if (throttle == nullptr || !std::exchange(throttle->is_counting, false)) continue;
    free(*throttle);
  }
  counting_.clear();
}

}  // namespace millrace
