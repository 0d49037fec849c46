#pragma once

#include "core/model/types.hpp"

namespace millrace {

/// The sum, or the end of what fits into a Time: times may come from a client or a log.
[[nodiscard]] constexpr Time moved_by(Time time, Duration by) {
  Time::rep sum = 0;
  if (!__builtin_add_overflow(time.time_since_epoch().count(), by.count(), &sum)) {
    return Time{Duration{sum}};
  }
  return by < Duration{} ? Time::min() : Time::max();
}

/// The wall clock, seen from the steady time that everything else is told in. When the machine's
/// clock is set, only `ahead` changes; stored times stay. It is not stored: a process begins with
/// what its server tells it.
struct WallClock {
  Duration ahead{};  ///< wall time less steady time; within half of what a Duration holds

  /// What the wall clock shows at that time. The epoch and kNever mean no time, and stay.
  [[nodiscard]] constexpr Time shown(Time steady) const {
    return steady == Time{} || steady == kNever ? steady : moved_by(steady, ahead);
  }
  /// When the wall clock will show, or has shown, that time; the opposite of `shown`.
  [[nodiscard]] constexpr Time steady(Time wall) const {
    return wall == Time{} || wall == kNever ? wall : moved_by(wall, -ahead);
  }

  bool operator==(const WallClock&) const = default;
};

}  // namespace millrace
