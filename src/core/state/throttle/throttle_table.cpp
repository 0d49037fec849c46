#include "core/state/throttle/throttle_table.hpp"

#include <utility>

#include "base/check.hpp"
#include "core/model/codec.hpp"

namespace millrace {

// ---- alarms -------------------------------------------------------------------------------------

void ThrottleAlarms::set(Throttle& throttle, Time at) {
  if (at >= throttle.alarm) return;
  clear(throttle);
  alarms_.emplace(at, &throttle);
  throttle.alarm = at;
}

void ThrottleAlarms::await_token(Throttle& throttle, Time now) {
  if (!throttle.limits.has_rate()) return;
  const Time at = TokenBucket(throttle.limits).next_at(throttle.full_at);
  if (at > now) set(throttle, at);
}

void ThrottleAlarms::clear(Throttle& throttle) {
  if (throttle.alarm != kNever) alarms_.erase({throttle.alarm, &throttle});
  throttle.alarm = kNever;
}

Throttle* ThrottleAlarms::take(Time now) {
  if (next() > now) return nullptr;
  Throttle& throttle = *alarms_.begin()->second;
  clear(throttle);
  return &throttle;
}

// ---- names --------------------------------------------------------------------------------------

const Throttle* ThrottleTable::find(std::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : throttles_[found->second].get();
}

void ThrottleTable::page(std::string_view after, std::size_t limit,
                         const std::function<void(const Throttle&)>& visit) const {
  auto place = names_.upper_bound(after);
  for (; place != names_.end() && limit > 0; ++place, --limit) visit(at(place->second));
}

Throttle& ThrottleTable::open(std::string_view name) {
  if (const auto found = names_.find(name); found != names_.end()) return at(found->second);
  Place place = static_cast<Place>(throttles_.size());
  if (free_places_.empty()) {
    throttles_.push_back(nullptr);
  } else {
    place = free_places_.back();
    free_places_.pop_back();
  }
  throttles_[place] = std::make_unique<Throttle>();
  Throttle& throttle = *throttles_[place];
  throttle.name = name;
  throttle.is_type = is_type_name(name);
  throttle.place = place;
  names_.emplace(name, place);
  return throttle;
}

void ThrottleTable::collect(Throttle& throttle) {
  const bool has_record = throttle.by_hand || throttle.full_at != Time{};
  if (throttle.queue || has_record) return;
  if (throttle.is_named || !throttle.slots.empty() || throttle.groups > 0) return;
  alarms_.clear(throttle);
  CHECK(!throttle.log && throttle.bucket_alarm == kNever);
  const Place place = throttle.place;
  names_.erase(names_.find(throttle.name));
  throttles_[place].reset();
  free_places_.push_back(place);
}

// ---- buckets ------------------------------------------------------------------------------------

void ThrottleTable::set_full_at(Throttle& throttle, Time full_at) {
  leave_log(throttle);
  throttle.full_at = full_at;
  look_at_bucket(throttle, full_at);
  if (!std::exchange(throttle.is_bucket_changed, true)) changed_.push_back(throttle.place);
}

/// A later time than the one that is planned is noticed then.
void ThrottleTable::look_at_bucket(Throttle& throttle, Time at) {
  if (throttle.bucket_alarm != kNever) return;
  throttle.bucket_alarm = at;
  buckets_.emplace(at, throttle.place);
}

const Throttle* ThrottleTable::first_full(Time now) {
  for (std::size_t looks = 0; looks < kSliceJobs; ++looks) {
    if (next_full() > now) return nullptr;
    Throttle& throttle = at(buckets_.begin()->second);
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

std::size_t ThrottleTable::write(std::string& batch) {
  std::size_t written = 0;
  for (const Place place : changed_) {
    Throttle* const throttle = if_there(place);
    if (throttle == nullptr || !std::exchange(throttle->is_bucket_changed, false)) continue;
    leave_log(*throttle);
    encode(record_in(place), batch);
    enter_log(*throttle);
    ++written;
  }
  changed_.clear();
  return written;
}

// ---- as a live kind -----------------------------------------------------------------------------

ThrottleChanged ThrottleTable::record_in(Place place) const {
  const Throttle& throttle = at(place);
  return {.queue = throttle.name,
          .is_by_hand = throttle.by_hand.has_value(),
          .limits = throttle.by_hand.value_or(ThrottleLimits{}),
          .full_at = throttle.full_at};
}

void ThrottleTable::apply(ThrottleChanged&& record) {
  const bool has_nothing = !record.is_by_hand && record.full_at == Time{};
  if (has_nothing) return apply(ThrottleRemoved{.queue = record.queue});
  Throttle& throttle = open(record.queue);
  leave_log(throttle);
  if (throttle.by_hand) --by_hand_count_;
  throttle.by_hand.reset();
  if (record.is_by_hand) {
    throttle.by_hand = record.limits;
    ++by_hand_count_;
  }
  throttle.full_at = record.full_at;
  throttle.is_bucket_changed = false;
  if (throttle.full_at != Time{}) look_at_bucket(throttle, throttle.full_at);
  enter_log(throttle);
}

void ThrottleTable::apply(ThrottleRemoved&& record) {
  const auto found = names_.find(record.queue);
  if (found == names_.end()) return;
  Throttle& throttle = at(found->second);
  leave_log(throttle);
  if (throttle.by_hand) --by_hand_count_;
  throttle.by_hand.reset();
  throttle.full_at = Time{};
  throttle.is_bucket_changed = false;
  if (throttle.bucket_alarm != kNever) buckets_.erase({throttle.bucket_alarm, throttle.place});
  throttle.bucket_alarm = kNever;
  collect(throttle);
}

void ThrottleTable::enter_log(Throttle& throttle) {
  CHECK(!throttle.log);
  throttle.log.emplace();
  LiveRecords::enter_log(throttle.place);
}

void ThrottleTable::leave_log(Throttle& throttle) {
  if (!throttle.log) return;
  LiveRecords::leave_log(throttle.place);
  throttle.log.reset();
}

}  // namespace millrace
