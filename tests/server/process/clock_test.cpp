#include "server/process/clock.hpp"

#include "support/doctest.hpp"

namespace millrace::server {
namespace {

constexpr Time kNoon{1'000'000'000s};

TEST_CASE("clock: starts at the wall clock and runs with the steady clock") {
  const SteadyCalendar calendar(kNoon, 50s);
  CHECK(calendar.at(50s) == kNoon);
  CHECK(calendar.at(50s + 250ms) == kNoon + 250ms);
  CHECK(calendar.at(90s) == kNoon + 40s);
}

TEST_CASE("clock: a wall clock set forward by an hour moves it by 5 ms in a second") {
  SteadyCalendar calendar(kNoon, 0s);
  calendar.steer(kNoon + 1h + 1s, 1s);
  CHECK(calendar.at(1s) == kNoon + 1s);
  CHECK(calendar.at(2s) == kNoon + 2s + 5ms);
}

TEST_CASE("clock: a wall clock set back never makes it go backwards") {
  SteadyCalendar calendar(kNoon, 0s);
  calendar.steer(kNoon - 1h, 1s);
  CHECK(calendar.at(1s) == kNoon + 1s);
  CHECK(calendar.at(1s + 1ms) > kNoon + 1s);
  CHECK(calendar.at(2s) == kNoon + 2s - 5ms);
}

TEST_CASE("clock: a small difference is made up within one interval and not overdone") {
  SteadyCalendar calendar(kNoon, 0s);
  calendar.steer(kNoon + 1s + 2ms, 1s);
  CHECK(calendar.at(2s) == kNoon + 2s + 2ms);
  CHECK(calendar.at(600s) == kNoon + 600s + 2ms);
}

TEST_CASE("clock: steering is due once a second") {
  SteadyCalendar calendar(kNoon, 0s);
  CHECK_FALSE(calendar.is_steering_due(999ms));
  CHECK(calendar.is_steering_due(1s));
  calendar.steer(kNoon + 1s, 1s);
  CHECK_FALSE(calendar.is_steering_due(1999ms));
}

TEST_CASE("clock: the system clock is near the calendar and does not go backwards") {
  SystemClock clock;
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  const Time first = clock.now();
  CHECK(std::chrono::abs(first.time_since_epoch() - wall) < 1s);
  CHECK(clock.now() >= first);
}

}  // namespace
}  // namespace millrace::server
