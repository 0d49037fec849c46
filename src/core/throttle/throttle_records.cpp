#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "core/model/codec.hpp"
#include "core/throttle/throttles.hpp"

/// What is stored of the limits: those that an operator set, and the time of each bucket.
namespace millrace {
namespace {

ThrottleChanged record_of(const Throttle& throttle) {
  return {.queue = throttle.name,
          .is_by_hand = throttle.by_hand.has_value(),
          .limits = throttle.by_hand.value_or(ThrottleLimits{}),
          .full_at = throttle.full_at};
}

}  // namespace

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
