#include "server/process/clock.hpp"

#include <time.h>

#include <algorithm>

#include "base/check.hpp"

namespace millrace::server {
namespace {

std::chrono::nanoseconds read(clockid_t id) {
  timespec time{};
  CHECK(clock_gettime(id, &time) == 0);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

/// The time that the machine was suspended counts: a delay of an hour is over an hour later.
SteadyCalendar::Steady read_steady() {
  return read(CLOCK_BOOTTIME);
}

Time read_wall() {
  return Time(read(CLOCK_REALTIME));
}

/// Both clocks at one moment.
struct ClockReading {
  Time wall;
  SteadyCalendar::Steady steady;
};

ClockReading read_both() {
  // A process may be stopped between two lines. Read apart, the clocks would seem to differ.
  constexpr SteadyCalendar::Steady kApartMax = 10ms;
  for (int tries = 1;; ++tries) {
    const SteadyCalendar::Steady steady = read_steady();
    const Time wall = read_wall();
    if (read_steady() - steady <= kApartMax || tries == 5) return {wall, steady};
  }
}

}  // namespace

Time SteadyCalendar::at(Steady steady) const {
  const Steady elapsed = steady - anchor_steady_;
  CHECK(elapsed >= Steady::zero());
  const Steady slewed = std::min(elapsed, kSteerInterval);
  return anchor_ + elapsed + Steady(slew_.count() * slewed.count() / kSteerInterval.count());
}

void SteadyCalendar::steer(Time wall, Steady steady) {
  jump(at(steady), steady);
  const Steady difference = wall - wall_.shown(anchor_);
  if (std::chrono::abs(difference) >= kStepMin) {
    wall_.ahead += difference;
    slew_ = Steady::zero();
  } else {
    slew_ = std::clamp(difference, -kSlewMax, kSlewMax);
  }
}

void SteadyCalendar::jump(Time time, Steady steady) {
  CHECK(time >= at(steady));
  anchor_ = time;
  anchor_steady_ = steady;
}

SystemClock::SystemClock() : calendar_(read_wall(), read_steady()) {}

Time SystemClock::now() {
  return calendar_.at(read_steady());
}

WallClock SystemClock::look() {
  const ClockReading both = read_both();
  calendar_.steer(both.wall, both.steady);
  return calendar_.wall();
}

void SystemClock::go_on_from(Time latest) {
  const SteadyCalendar::Steady steady = read_steady();
  if (latest > calendar_.at(steady)) calendar_.jump(latest, steady);
}

}  // namespace millrace::server
