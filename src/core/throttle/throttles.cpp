#include "core/throttle/throttles.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "core/model/codec.hpp"

namespace millrace {
namespace {

ThrottleChanged record_of(const Throttle& throttle) {
  return {.queue = throttle.queue_name,
          .is_by_hand = throttle.by_hand.has_value(),
          .limits = throttle.by_hand.value_or(ThrottleLimits{}),
          .full_at = throttle.full_at};
}

}  // namespace

// ---- limits -------------------------------------------------------------------------------------

void Throttles::set_rules(ThrottleRules rules) {
  rules_ = std::move(rules);
  has_begun_ = true;
}

const Throttle* Throttles::find(std::string_view queue) const {
  const auto found = names_.find(queue);
  return found == names_.end() ? nullptr : throttles_[found->second].get();
}

void Throttles::refresh(Queue& queue, Time now) {
  look_for_limits(queue, now);
}

void Throttles::opened(Queue& queue) {
  if (has_begun_) look_for_limits(queue, std::nullopt);
}

void Throttles::dropped(Queue& queue) {
  if (queue.throttle == nullptr) return;
  const Place place = queue.throttle->place;
  put_out_of_force(*queue.throttle);
  collect(place);
}

std::pair<ThrottleLimits, std::string> Throttles::wanted(const Throttle* throttle,
                                                         std::string_view queue) const {
  if (throttle != nullptr && throttle->by_hand) return {*throttle->by_hand, ""};
  const ThrottleRule* const rule = rules_.find ? rules_.find(queue) : nullptr;
  if (rule == nullptr) return {};
  return {rule->limits, rule->pattern};
}

void Throttles::look_for_limits(Queue& queue, std::optional<Time> now) {
  auto [limits, rule] = wanted(find(queue.name), queue.name);
  if (limits.has_any()) {
    Throttle& throttle = *throttles_[open(queue.name)];
    throttle.rule = std::move(rule);
    put_in_force(throttle, queue, limits);
    if (now && limits.has_rate()) {
      const Time bounded = TokenBucket(limits).bounded(throttle.full_at, *now);
      if (bounded != throttle.full_at) set_full_at(throttle, bounded);
    }
  } else if (queue.throttle != nullptr) {
    const Place place = queue.throttle->place;
    put_out_of_force(*queue.throttle);
    collect(place);
  }
}

Throttles::Place Throttles::open(std::string_view queue) {
  if (const auto found = names_.find(queue); found != names_.end()) return found->second;
  Place place = static_cast<Place>(throttles_.size());
  if (free_places_.empty()) {
    throttles_.push_back(nullptr);
  } else {
    place = free_places_.back();
    free_places_.pop_back();
  }
  throttles_[place] = std::make_unique<Throttle>();
  throttles_[place]->queue_name = queue;
  throttles_[place]->place = place;
  names_.emplace(queue, place);
  return place;
}

/// Names of queues come from clients: what is not needed must not stay.
void Throttles::collect(Place place) {
  Throttle& throttle = *throttles_[place];
  if (throttle.queue || has_record(throttle)) return;
  CHECK(throttle.slots.empty() && !throttle.log && throttle.bucket_alarm == kNever);
  names_.erase(names_.find(throttle.queue_name));
  throttles_[place].reset();
  free_places_.push_back(place);
}

void Throttles::put_in_force(Throttle& throttle, Queue& queue, const ThrottleLimits& limits) {
  const bool is_new = !throttle.queue;
  if (!is_new && limits == throttle.limits) return;
  const bool had_slots = !is_new && throttle.limits.has_slots();
  const bool has_same_slots =
      had_slots && limits.has_slots() && limits.timeout_s == throttle.limits.timeout_s;
  throttle.limits = limits;
  throttle.queue = queue.id;
  queue.throttle = &throttle;
  if (!has_same_slots) {
    forget_slots(throttle);
    if (limits.has_slots() && queue.reserved_count > 0) {
      throttle.is_counting = true;
      counting_.push_back(queue.id);
      ++counts_asked_;
    }
  }
  free(throttle);
}

/// Those that wait are served by whoever calls this.
void Throttles::put_out_of_force(Throttle& throttle) {
  CHECK(throttle.queue);
  forget_slots(throttle);
  if (throttle.alarm != kNever) alarms_.erase({throttle.alarm, *throttle.queue});
  queues_.at(*throttle.queue).throttle = nullptr;
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

void Throttles::enter(Throttle& throttle, const Job& job) {
  CHECK(job.reservation() != nullptr);
  const Reservation& held = *job.reservation();
  if (!throttle.limits.has_slots() || held.reserved_at <= throttle.aged_at) return;
  Slot slot{.reserved_at = held.reserved_at, .job = job.id};
  // The count may have met it already.
  if (throttle.slots.contains(slot)) return;
  slot.holder = &holder_of(held);
  throttle.slots.insert(slot);
  ++slot.holder->slots[*throttle.queue];
  if (slot.holder->lives) ++throttle.taken;
  // Nearly always it is the newest. After a start they come in the order of their deadlines.
  if (throttle.slots.begin()->job == job.id) {
    set_alarm(throttle, held.reserved_at + throttle.limits.timeout());
  }
}

bool Throttles::count(Throttle& throttle, const Job& job, Time now) {
  const Time began = job.reservation()->reserved_at;
  const bool is_too_old = began + throttle.limits.timeout() <= now;
  // It must not be entered when it is touched, either.
  if (is_too_old) throttle.aged_at = std::max(throttle.aged_at, began);
  if (!is_too_old) enter(throttle, job);
  return !is_too_old;
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
  if (holder.lives) {
    CHECK(throttle.taken > 0);
    --throttle.taken;
  }
  const auto count = holder.slots.find(*throttle.queue);
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
  if (std::exchange(throttle.is_counting, false)) std::erase(counting_, *throttle.queue);
}

void Throttles::age(Throttle& throttle, Time now) {
  const Duration timeout = throttle.limits.timeout();
  for (std::size_t aged = 0; aged < kSliceJobs && !throttle.slots.empty(); ++aged) {
    const Slot oldest = *throttle.slots.begin();
    if (oldest.reserved_at + timeout > now) break;
    throttle.slots.erase(throttle.slots.begin());
    throttle.aged_at = oldest.reserved_at;
    if (oldest.holder->lives) ++throttle.overage;
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
  const auto count = holder->slots.find(*throttle.queue);
  return count == holder->slots.end() || count->second < throttle.limits.worker;
}

void Throttles::set_lives(SlotHolder& holder, bool lives) {
  if (holder.lives == lives) return;
  holder.lives = lives;
  for (const auto& [queue, count] : holder.slots) {
    Throttle& throttle = *queues_.at(queue).throttle;
    if (lives) {
      throttle.taken += count;
      continue;
    }
    CHECK(throttle.taken >= count);
    throttle.taken -= count;
    throttle.reclaimed += count;
    free(throttle);
  }
}

void Throttles::set_worker_lives(std::string_view wid, bool lives) {
  awaited_.erase(wid);
  if (SlotHolder* const holder = find_holder(wid, 0)) set_lives(*holder, lives);
}

void Throttles::end_connection(ClientId connection) {
  if (SlotHolder* const holder = find_holder({}, connection)) set_lives(*holder, false);
}

bool Throttles::lives(const Reservation& held) const {
  const SlotHolder* const holder = find_holder(held.wid, held.wid.empty() ? held.consumer : 0);
  return holder == nullptr || holder->lives;
}

void Throttles::end_holder(const Reservation& held) {
  SlotHolder* const holder = find_holder(held.wid, held.wid.empty() ? held.consumer : 0);
  if (holder != nullptr) set_lives(*holder, false);
}

void Throttles::stop_awaiting() {
  for (const std::string& wid : awaited_) {
    if (SlotHolder* const holder = find_holder(wid, 0)) set_lives(*holder, false);
  }
  awaited_.clear();
}

// ---- what is to be done -------------------------------------------------------------------------

void Throttles::free(Throttle& throttle) {
  // Any of the clients that were passed over may be served now.
  throttle.passed_over = 0;
  if (!std::exchange(throttle.is_freed, true)) freed_.push_back(*throttle.queue);
}

std::optional<QueueId> Throttles::take_freed() {
  while (!freed_.empty()) {
    const QueueId id = freed_.back();
    freed_.pop_back();
    // The queue may be gone, and another one have its number.
    Throttle* const throttle = queues_.has(id) ? queues_.at(id).throttle : nullptr;
    if (throttle != nullptr && std::exchange(throttle->is_freed, false)) return id;
  }
  return std::nullopt;
}

void Throttles::set_alarm(Throttle& throttle, Time at) {
  if (at >= throttle.alarm) return;
  if (throttle.alarm != kNever) alarms_.erase({throttle.alarm, *throttle.queue});
  alarms_.emplace(at, *throttle.queue);
  throttle.alarm = at;
}

std::optional<QueueId> Throttles::take_alarm(Time now) {
  if (alarms_.empty() || alarms_.begin()->first > now) return std::nullopt;
  const QueueId id = alarms_.begin()->second;
  alarms_.erase(alarms_.begin());
  queues_.at(id).throttle->alarm = kNever;
  return id;
}

void Throttles::end_count() {
  for (const QueueId id : counting_) {
    Throttle& throttle = *queues_.at(id).throttle;
    throttle.is_counting = false;
    free(throttle);
  }
  counting_.clear();
}

// ---- buckets ------------------------------------------------------------------------------------

void Throttles::set_full_at(Throttle& throttle, Time full_at) {
  leave_log(throttle.place);
  throttle.full_at = full_at;
  look_at_bucket(throttle, full_at);
  if (!std::exchange(throttle.is_bucket_changed, true)) changed_.push_back(throttle.place);
}

/// A later time than the one that is planned is noticed then.
void Throttles::look_at_bucket(Throttle& throttle, Time at) {
  if (throttle.bucket_alarm != kNever) return;
  throttle.bucket_alarm = at;
  buckets_.emplace(at, throttle.place);
}

const Throttle* Throttles::first_full(Time now) {
  for (std::size_t looks = 0; looks < kSliceJobs; ++looks) {
    if (next_full() > now) return nullptr;
    Throttle& throttle = *throttles_[buckets_.begin()->second];
    buckets_.erase(buckets_.begin());
    throttle.bucket_alarm = kNever;
    if (throttle.full_at > now) {
      look_at_bucket(throttle, throttle.full_at);
    } else if (!throttle.by_hand) {
      return &throttle;
    }
  }
  return nullptr;
}

std::size_t Throttles::write(std::string& batch) {
  std::size_t written = 0;
  for (const Place place : changed_) {
    // It may be gone, and its place another's.
    if (throttles_[place] == nullptr) continue;
    Throttle& throttle = *throttles_[place];
    if (!std::exchange(throttle.is_bucket_changed, false)) continue;
    leave_log(place);
    encode(record_of(throttle), batch);
    enter_log(place);
    ++written;
  }
  changed_.clear();
  return written;
}

// ---- as a live kind -----------------------------------------------------------------------------

void Throttles::apply(ThrottleChanged&& record) {
  const bool has_nothing = !record.is_by_hand && record.full_at == Time{};
  if (has_nothing) return apply(ThrottleRemoved{.queue = record.queue});
  const Place place = open(record.queue);
  Throttle& throttle = *throttles_[place];
  leave_log(place);
  if (throttle.by_hand) --by_hand_count_;
  throttle.by_hand.reset();
  if (record.is_by_hand) {
    throttle.by_hand = record.limits;
    ++by_hand_count_;
  }
  throttle.full_at = record.full_at;
  throttle.is_bucket_changed = false;
  if (throttle.full_at != Time{}) look_at_bucket(throttle, throttle.full_at);
  enter_log(place);
}

void Throttles::apply(ThrottleRemoved&& record) {
  const auto found = names_.find(record.queue);
  if (found == names_.end()) return;
  const Place place = found->second;
  Throttle& throttle = *throttles_[place];
  leave_log(place);
  if (throttle.by_hand) --by_hand_count_;
  throttle.by_hand.reset();
  throttle.full_at = Time{};
  throttle.is_bucket_changed = false;
  if (throttle.bucket_alarm != kNever) buckets_.erase({throttle.bucket_alarm, place});
  throttle.bucket_alarm = kNever;
  collect(place);
}

/// A batch is never cut, so its beginning will do as the place.
void Throttles::enter_log(Place place) {
  Throttle& throttle = *throttles_[place];
  CHECK(!throttle.log);
  throttle.log.emplace();
  log_.push_newest(place, 0);
  record_bytes_ += encoded_bytes(record_of(throttle));
}

/// Before it changes, since its record's length is counted as it is now.
void Throttles::leave_log(Place place) {
  Throttle& throttle = *throttles_[place];
  if (!throttle.log) return;
  const std::uint64_t bytes = encoded_bytes(record_of(throttle));
  CHECK(bytes <= record_bytes_);
  record_bytes_ -= bytes;
  log_.remove(place);
  throttle.log.reset();
}

void Throttles::rewrite_oldest(std::string& batch) {
  const Place place = log_.oldest().value();
  encode(record_of(*throttles_[place]), batch);
  leave_log(place);
  enter_log(place);
}

}  // namespace millrace
