#include "core/throttle/throttles.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace millrace {

// ---- limits -------------------------------------------------------------------------------------

const Throttle* Throttles::find(std::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : throttles_[found->second].get();
}

void Throttles::refresh(Queue& queue, Time now) {
  look_for_limits(queue, now);
}

void Throttles::opened(Queue& queue) {
  if (has_begun_) look_for_limits(queue, std::nullopt);
}

void Throttles::dropped(Queue& queue) {
  if (queue.throttle != nullptr) {
    const Place place = queue.throttle->place;
    put_out_of_force(*queue.throttle);
    collect(place);
  }
  dismiss_lines(queue);
}

std::pair<ThrottleLimits, std::string> Throttles::wanted(const Throttle* throttle,
                                                         std::string_view name) const {
  if (throttle != nullptr && throttle->by_hand) return {*throttle->by_hand, ""};
  const ThrottleRule* const rule = rules_.find ? rules_.find(name) : nullptr;
  if (rule == nullptr) return {};
  return {rule->limits, rule->pattern};
}

void Throttles::look_for_limits(Queue& queue, std::optional<Time> now) {
  // No protocol allows such a queue, and its limits would be those of a type.
  if (is_type_name(queue.name)) return;
  auto [limits, rule] = wanted(find(queue.name), queue.name);
  if (limits.has_any()) {
    Throttle& throttle = *throttles_[open(queue.name)];
    throttle.rule = std::move(rule);
    put_in_force(throttle, queue, limits);
    if (now) bound_bucket(throttle, *now);
  } else if (queue.throttle != nullptr) {
    const Place place = queue.throttle->place;
    put_out_of_force(*queue.throttle);
    collect(place);
  }
}

/// The rate may have been lower before.
void Throttles::bound_bucket(Throttle& throttle, Time now) {
  if (!throttle.limits.has_rate()) return;
  const Time bounded = TokenBucket(throttle.limits).bounded(throttle.full_at, now);
  if (bounded != throttle.full_at) set_full_at(throttle, bounded);
}

Throttles::Place Throttles::open(std::string_view name) {
  if (const auto found = names_.find(name); found != names_.end()) return found->second;
  Place place = static_cast<Place>(throttles_.size());
  if (free_places_.empty()) {
    throttles_.push_back(nullptr);
  } else {
    place = free_places_.back();
    free_places_.pop_back();
  }
  throttles_[place] = std::make_unique<Throttle>();
  throttles_[place]->name = name;
  throttles_[place]->is_type = is_type_name(name);
  throttles_[place]->place = place;
  names_.emplace(name, place);
  return place;
}

/// Names of queues and types come from clients: what is not needed must not stay.
void Throttles::collect(Place place) {
  Throttle& throttle = *throttles_[place];
  if (throttle.queue || has_record(throttle)) return;
  if (throttle.is_named || !throttle.slots.empty() || throttle.groups > 0) return;
  if (throttle.is_type) {
    if (throttle.alarm != kNever) alarms_.erase({throttle.alarm, place});
    if (throttle.is_counting) std::erase(counting_, place);
  }
  CHECK(throttle.slots.empty() && !throttle.log && throttle.bucket_alarm == kNever);
  names_.erase(names_.find(throttle.name));
  throttles_[place].reset();
  free_places_.push_back(place);
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

void Throttles::begin_count(Throttle& throttle) {
  ++counts_asked_;
  if (!std::exchange(throttle.is_counting, true)) counting_.push_back(throttle.place);
}

/// Those that wait are served by whoever calls this.
void Throttles::put_out_of_force(Throttle& throttle) {
  CHECK(throttle.queue);
  forget_slots(throttle);
  if (throttle.alarm != kNever) alarms_.erase({throttle.alarm, throttle.place});
  Queue& queue = queues_.at(*throttle.queue);
  if (throttle.limits.per_key != 0) set_keys(throttle, queue, false);
  queue.throttle = nullptr;
  throttle.queue.reset();
  throttle.limits = {};
  throttle.rule.clear();
  throttle.alarm = kNever;
  throttle.is_freed = false;
  throttle.held = throttle.overage = throttle.reclaimed = 0;
}

// ---- slots --------------------------------------------------------------------------------------

SlotHolder* Throttles::find_holder(std::string_view wid, ClientId connection) const {
  if (!wid.empty() || connection == 0) {
    const auto found = workers_.find(wid);
    return found == workers_.end() ? nullptr : found->second.get();
  }
  const auto found = connections_.find(connection);
  return found == connections_.end() ? nullptr : found->second.get();
}

SlotHolder& Throttles::holder_of(const Reservation& held) {
  const ClientId connection = held.wid.empty() ? held.consumer : 0;
  std::unique_ptr<SlotHolder>& holder =
      connection == 0 ? workers_[held.wid] : connections_[connection];
  if (!holder) {
    holder = std::make_unique<SlotHolder>();
    holder->wid = held.wid;
    holder->connection = connection;
  }
  return *holder;
}

void Throttles::forget(const SlotHolder& holder) {
  if (holder.connection == 0) {
    workers_.erase(workers_.find(holder.wid));
  } else {
    connections_.erase(holder.connection);
  }
}

bool Throttles::enter(Throttle& throttle, const Job& job) {
  CHECK(job.reservation() != nullptr);
  const Reservation& held = *job.reservation();
  if (!throttle.limits.has_slots() || held.reserved_at <= throttle.aged_at) return false;
  Slot slot{.reserved_at = held.reserved_at, .job = job.id};
  // The count may have met it already.
  if (throttle.slots.contains(slot)) return true;
  slot.holder = &holder_of(held);
  if (throttle.limits.per_key != 0) {
    slot.key = queues_.at(*throttle.queue).lines->take_slot(job);
  }
  throttle.slots.insert(slot);
  ++slot.holder->slots[throttle.place];
  // Nearly always it is the newest. After a start they come in the order of their deadlines.
  if (throttle.slots.begin()->job == job.id) {
    set_alarm(throttle, held.reserved_at + throttle.limits.timeout());
  }
  return true;
}

bool Throttles::count(Throttle& throttle, const Job& job, Time now) {
  const Time began = job.reservation()->reserved_at;
  const bool is_too_old = began + throttle.limits.timeout() <= now;
  // It must not be entered when it is touched, either.
  if (is_too_old) throttle.aged_at = std::max(throttle.aged_at, began);
  return !is_too_old && enter(throttle, job);
}

void Throttles::leave(Throttle& throttle, const Job& job) {
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
  SlotHolder& holder = *slot.holder;
  if (throttle.is_type) type_slots_.erase(slot.job);
  if (slot.key != nullptr) slot.key->owner->give_back(*slot.key);
  const auto count = holder.slots.find(throttle.place);
  CHECK(count != holder.slots.end());
  if (--count->second > 0) return;
  holder.slots.erase(count);
  if (holder.slots.empty()) forget(holder);
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
    set_alarm(throttle, throttle.slots.begin()->reserved_at + timeout);
  }
}

void Throttles::count_begun(Throttle& throttle, Time now) {
  ++throttle.held;
  if (!throttle.limits.has_rate()) return;
  set_full_at(throttle, TokenBucket(throttle.limits).taken(throttle.full_at, now));
}

void Throttles::count_undone(Throttle& throttle) {
  throttle.held -= std::min<std::uint64_t>(throttle.held, 1);
  if (!throttle.limits.has_rate() || throttle.full_at == Time{}) return;
  set_full_at(throttle, TokenBucket(throttle.limits).given_back(throttle.full_at));
}

bool Throttles::admits(const Throttle& throttle, std::string_view wid, ClientId connection) const {
  if (throttle.limits.worker == 0) return true;
  const SlotHolder* const holder = find_holder(wid, wid.empty() ? connection : 0);
  if (holder == nullptr) return true;
  const auto count = holder->slots.find(throttle.place);
  return count == holder->slots.end() || count->second < throttle.limits.worker;
}

void Throttles::count_reclaimed(const Job& job) {
  const Slot slot{.reserved_at = job.reservation()->reserved_at, .job = job.id};
  Throttle* const of_queue = queues_.at(job.queue).throttle;
  if (of_queue != nullptr && of_queue->slots.contains(slot)) ++of_queue->reclaimed;
  const auto of_type = type_slots_.find(job.id);
  if (of_type != type_slots_.end()) ++throttles_[of_type->second]->reclaimed;
}

// ---- what is to be done -------------------------------------------------------------------------

void Throttles::free(Throttle& throttle) {
  // Any of the clients that were passed over may be served now.
  throttle.passed_over = 0;
  if (!std::exchange(throttle.is_freed, true)) freed_.push_back(throttle.place);
}

Throttle* Throttles::take_freed() {
  while (!freed_.empty()) {
    const Place place = freed_.back();
    freed_.pop_back();
    // It may be gone, and its place another's.
    Throttle* const throttle = throttles_[place].get();
    if (throttle == nullptr || !std::exchange(throttle->is_freed, false)) continue;
    if (throttle->is_in_force()) return throttle;
  }
  return nullptr;
}

void Throttles::set_alarm(Throttle& throttle, Time at) {
  if (at >= throttle.alarm) return;
  if (throttle.alarm != kNever) alarms_.erase({throttle.alarm, throttle.place});
  alarms_.emplace(at, throttle.place);
  throttle.alarm = at;
}

void Throttles::await_token(Throttle& throttle, Time now) {
  if (!throttle.limits.has_rate()) return;
  const Time at = TokenBucket(throttle.limits).next_at(throttle.full_at);
  if (at > now) set_alarm(throttle, at);
}

Throttle* Throttles::take_alarm(Time now) {
  if (alarms_.empty() || alarms_.begin()->first > now) return nullptr;
  Throttle& throttle = *throttles_[alarms_.begin()->second];
  alarms_.erase(alarms_.begin());
  throttle.alarm = kNever;
  return &throttle;
}

void Throttles::end_count() {
  are_types_counting_ = false;
  for (const Place place : counting_) {
    Throttle& throttle = *throttles_[place];
    throttle.is_counting = false;
    free(throttle);
  }
  counting_.clear();
}

}  // namespace millrace
