#pragma once

#include <chrono>

#include "core/model/types.hpp"

namespace millrace::server {

/// The source of every `now` that the layers below `server` are given. It never goes backwards.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Time now() = 0;
};

/// Calendar time that runs evenly. It starts at the wall clock, advances with a steady clock, and
/// approaches the wall clock by at most `kSlewMax` per interval. So when the wall clock is set, no
/// reservation expires at once and no delay takes hours longer.
class SteadyCalendar {
 public:
  using Steady = std::chrono::nanoseconds;

  SteadyCalendar(Time wall, Steady steady) : anchor_(wall), anchor_steady_(steady) {}

  /// The calendar time at `steady`, which must not be earlier than at the last `steer`.
  [[nodiscard]] Time at(Steady steady) const;

  /// Approaches `wall` during the next `kSteerInterval`.
  void steer(Time wall, Steady steady);

  [[nodiscard]] bool is_steering_due(Steady steady) const {
    return steady - anchor_steady_ >= kSteerInterval;
  }

  static constexpr Steady kSteerInterval = 1s;
  static constexpr Steady kSlewMax = 5ms;  ///< in one interval

 private:
  Time anchor_;
  Steady anchor_steady_;
  Steady slew_{0};  ///< gain on the steady clock during this interval; may be negative
};

/// The clock of a running server. Not thread-safe.
class SystemClock final : public Clock {
 public:
  SystemClock();
  [[nodiscard]] Time now() override;

 private:
  SteadyCalendar calendar_;
};

}  // namespace millrace::server
