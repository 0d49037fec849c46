#pragma once

#include <chrono>

#include "core/model/wall_clock.hpp"

namespace millrace::server {

/// The source of every `now` that the layers below `server` are given. It never goes backwards.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Time now() = 0;

  /// Looks at the wall clock, to be called again at `next_look`.
  [[nodiscard]] virtual WallClock look() { return {}; }
  /// kNever: nobody sets this clock.
  [[nodiscard]] virtual Time next_look() { return kNever; }

  /// Goes on from there, if that is later than now: a journal may tell of times to come.
  virtual void go_on_from(Time) {}
};

/// Steady time: calendar time that runs evenly. It starts at the wall clock and advances with a
/// monotonic clock. A small difference to the wall clock is made up slowly, as clocks drift. A
/// larger one is a step: somebody set the wall clock. No step changes this time, so that no
/// reservation expires at once and no delay takes hours longer; `wall` tells how far the wall clock
/// is ahead since.
class SteadyCalendar {
 public:
  using Steady = std::chrono::nanoseconds;

  SteadyCalendar(Time wall, Steady steady) : anchor_(wall), anchor_steady_(steady) {}

  /// The calendar time at `steady`, which must not be earlier than at the last `steer`.
  [[nodiscard]] Time at(Steady steady) const;

  [[nodiscard]] WallClock wall() const { return wall_; }

  /// Takes a step of `kStepMin` or more, or approaches `wall` during the next `kSteerInterval`.
  void steer(Time wall, Steady steady);

  /// From now on it is `time`, which must not be earlier than at `steady`. To be followed by
  /// `steer`.
  void jump(Time time, Steady steady);

  static constexpr Steady kSteerInterval = 1s;
  static constexpr Steady kSlewMax = 5ms;  ///< in one interval
  static constexpr Steady kStepMin = 500ms;

 private:
  Time anchor_;
  Steady anchor_steady_;
  Steady slew_{0};  ///< gain on the steady clock during this interval; may be negative
  WallClock wall_;
};

/// The clock of a running server. Not thread-safe.
class SystemClock final : public Clock {
 public:
  SystemClock();
  [[nodiscard]] Time now() override;
  [[nodiscard]] WallClock look() override;
  [[nodiscard]] Time next_look() override { return now() + SteadyCalendar::kSteerInterval; }
  void go_on_from(Time latest) override;

 private:
  SteadyCalendar calendar_;
};

}  // namespace millrace::server
