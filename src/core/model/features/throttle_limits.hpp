#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/types.hpp"

namespace millrace {

/// What is handed out at most of a throttled queue, or of the jobs of a type. 0: no such limit.
struct ThrottleLimits {
  std::uint32_t concurrency = 0;  ///< jobs that run at a time, in total
  std::uint32_t worker = 0;       ///< the same for one worker
  std::uint32_t timeout_s = 0;    ///< a job that runs for longer no longer counts
  std::uint32_t rate_count = 0;   ///< jobs that may begin in `rate_s` seconds
  std::uint32_t rate_s = 0;
  std::uint32_t per_key = 0;  ///< the jobs of one key that run at a time

  /// How many jobs run matters, and not only how many begin.
  [[nodiscard]] bool has_slots() const { return concurrency != 0 || worker != 0 || per_key != 0; }
  [[nodiscard]] bool has_rate() const { return rate_count != 0 && rate_s != 0; }
  [[nodiscard]] bool has_any() const { return has_slots() || has_rate(); }
  [[nodiscard]] Duration timeout() const { return std::chrono::seconds(timeout_s); }

  bool operator==(const ThrottleLimits&) const = default;
};

/// What the name of a rule or a throttle begins with that limits the jobs of a type.
inline constexpr std::string_view kTypePrefix = "type:";
[[nodiscard]] inline bool is_type_name(std::string_view name) {
  return name.starts_with(kTypePrefix);
}

/// A name, or a pattern that many queues may match, and the limits of each such queue. With
/// `kTypePrefix` in front it means jobtypes.
struct ThrottleRule {
  std::string pattern;  ///< a name, or several, see `is_pattern`
  ThrottleLimits limits;

  bool operator==(const ThrottleRule&) const = default;
};

/// True for a name that means several queues or types: it has one of `*`, `?`, `[` and `\`, which
/// have their meaning in `faktory::Glob`.
[[nodiscard]] inline bool is_pattern(std::string_view name) {
  return name.find_first_of("*?[\\") != name.npos;
}

/// The limits that the server was configured with.
struct ThrottleRules {
  std::vector<ThrottleRule> list;  ///< as they were written; to be shown
  /// The rule of a queue, or of `type:` and a jobtype; null: it has none. Empty: nothing has one.
  std::function<const ThrottleRule*(std::string_view name)> find;
  std::vector<std::string> types;  ///< `type:` and each jobtype that a rule names
  bool has_types = false;          ///< there are rules of types

  /// As `find`; null also where nothing has a rule.
  [[nodiscard]] const ThrottleRule* rule_of(std::string_view name) const {
    return find ? find(name) : nullptr;
  }
};

/// The tokens of a rate, as one time: a bucket is full at `full_at`, and each token less makes it
/// later by `interval`. A bucket that was never used is full.
class TokenBucket {
 public:
  /// `limits` have a rate.
  explicit TokenBucket(const ThrottleLimits& limits)
      : count_(limits.rate_count),
        // Rounded up, so that never more than the rate comes through.
        interval_((Duration{std::chrono::seconds(limits.rate_s)} + Duration{count_ - 1}) / count_) {
  }

  /// When a token is there; not later than now when there is one.
  [[nodiscard]] Time next_at(Time full_at) const { return full_at - interval_ * (count_ - 1); }
  /// `full_at` with one token less, but never with less than none: a rate that was lowered counts
  /// from now on.
  [[nodiscard]] Time taken(Time full_at, Time now) const {
    return std::min(std::max(full_at, now) + interval_, now + interval_ * count_);
  }
  [[nodiscard]] Time given_back(Time full_at) const { return full_at - interval_; }
  /// No time later than this can be meant: the rate may have been lower when it was noted.
  [[nodiscard]] Time bounded(Time full_at, Time now) const {
    return std::min(full_at, now + interval_ * count_);
  }
  [[nodiscard]] std::uint64_t tokens(Time full_at, Time now) const {
    if (full_at <= now) return static_cast<std::uint64_t>(count_);
    const std::int64_t missing = (full_at - now + interval_ - Duration{1}) / interval_;
    return static_cast<std::uint64_t>(std::max<std::int64_t>(count_ - missing, 0));
  }

 private:
  std::int64_t count_;
  Duration interval_;
};

/// Bounds of what may be asked for.
inline constexpr std::uint32_t kThrottleSlotsMax = 1'000'000;
inline constexpr std::uint32_t kThrottleRateMax = 1'000'000;
inline constexpr std::uint32_t kThrottleSecondsMax = 1'000'000'000;
/// How many queues and types operators may set limits for.
inline constexpr std::size_t kThrottlesByHandMax = 10'000;

/// True when the limits are within their bounds and complete: where slots are counted, there is a
/// timeout, and a rate has both numbers. No limits at all are valid.
[[nodiscard]] inline bool is_valid(const ThrottleLimits& limits) {
  return limits.concurrency <= kThrottleSlotsMax && limits.worker <= kThrottleSlotsMax &&
         limits.per_key <= kThrottleSlotsMax && limits.timeout_s <= kThrottleSecondsMax &&
         limits.rate_count <= kThrottleRateMax && limits.rate_s <= kThrottleSecondsMax &&
         (!limits.has_slots() || limits.timeout_s != 0) &&
         (limits.rate_count == 0) == (limits.rate_s == 0);
}

/// Whether what has this name can have these limits. Each worker and each key are limits in a
/// queue; a type has none of them.
[[nodiscard]] inline bool can_have(std::string_view name, const ThrottleLimits& limits) {
  return !is_type_name(name) || (limits.worker == 0 && limits.per_key == 0);
}

}  // namespace millrace
