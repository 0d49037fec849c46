#pragma once

#include <chrono>

#include "core/model/types.hpp"

namespace millrace::server {

/// Where everything below `server` gets its `now` from. It never goes backwards.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Time now() = 0;
};

/// Calendar time that runs evenly: it starts from the wall clock, advances with a steady clock, and
/// leans towards the wall clock by at most `kSlewMax`. When somebody sets the wall clock, no
/// reservation runs out at once and no delay takes hours longer.
class SteadyCalendar {
 public:
  using Steady = std::chrono::nanoseconds;

  SteadyCalendar(Time wall, Steady steady) : anchor_(wall), anchor_steady_(steady) {}

  /// `steady` is not earlier than at the last `steer`.
  [[nodiscard]] Time at(Steady steady) const;

  /// Leans towards `wall` during the next `kSteerInterval`.
  void steer(Time wall, Steady steady);

  [[nodiscard]] bool is_steering_due(Steady steady) const {
    return steady - anchor_steady_ >= kSteerInterval;
  }

  static constexpr Steady kSteerInterval = 1s;
  static constexpr Steady kSlewMax = 5ms;  ///< in one interval

 private:
  Time anchor_;
  Steady anchor_steady_;
  Steady slew_{0};  ///< how much to gain on the steady clock during this interval
};

/// The clock of a running server. For one thread.
class SystemClock final : public Clock {
 public:
  SystemClock();
  [[nodiscard]] Time now() override;

 private:
  SteadyCalendar calendar_;
};

}  // namespace millrace::server
