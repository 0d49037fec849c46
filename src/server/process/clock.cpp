#include "server/process/clock.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace millrace::server {
namespace {

SteadyCalendar::Steady read_steady() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

Time read_wall() {
  return Time(
      std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()));
}

}  // namespace

Time SteadyCalendar::at(Steady steady) const {
  const Steady elapsed = steady - anchor_steady_;
  CHECK(elapsed >= Steady::zero());
  const Steady slewed = std::min(elapsed, kSteerInterval);
  return anchor_ + elapsed + Steady(slew_.count() * slewed.count() / kSteerInterval.count());
}

void SteadyCalendar::steer(Time wall, Steady steady) {
  anchor_ = at(steady);
  anchor_steady_ = steady;
  slew_ = std::clamp<Steady>(wall - anchor_, -kSlewMax, kSlewMax);
}

SystemClock::SystemClock() : calendar_(read_wall(), read_steady()) {}

Time SystemClock::now() {
  const SteadyCalendar::Steady steady = read_steady();
  if (calendar_.is_steering_due(steady)) calendar_.steer(read_wall(), steady);
  return calendar_.at(steady);
}

}  // namespace millrace::server
