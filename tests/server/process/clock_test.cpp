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

TEST_CASE("clock: a wall clock set forward is ahead at once, and does not move it") {
  SteadyCalendar calendar(kNoon, 0s);
  calendar.steer(kNoon + 1h + 1s, 1s);
  CHECK(calendar.wall().ahead == 1h);
  CHECK(calendar.at(2s) == kNoon + 2s);
}

TEST_CASE("clock: a wall clock set back is behind at once, and does not move it") {
  SteadyCalendar calendar(kNoon, 0s);
  calendar.steer(kNoon - 1h + 1s, 1s);
  CHECK(calendar.wall().ahead == -1h);
  CHECK(calendar.at(2s) == kNoon + 2s);
}

TEST_CASE("clock: a clock that is set back to what it was is not ahead any more") {
  SteadyCalendar calendar(kNoon, 0s);
  calendar.steer(kNoon + 1h + 1s, 1s);
  calendar.steer(kNoon + 2s, 2s);
  CHECK(calendar.wall().ahead == 0s);
}

TEST_CASE("clock: half a second is a step, less is made up by 5 ms in a second") {
  SteadyCalendar calendar(kNoon, 0s);
  calendar.steer(kNoon + 1s + 499ms, 1s);
  CHECK(calendar.wall().ahead == 0s);
  CHECK(calendar.at(2s) == kNoon + 2s + 5ms);
  calendar.steer(kNoon + 2s + 5ms + 500ms, 2s);
  CHECK(calendar.wall().ahead == 500ms);
  CHECK(calendar.at(3s) == kNoon + 3s + 5ms);
}

TEST_CASE("clock: a wall clock that is slow never makes it go backwards") {
  SteadyCalendar calendar(kNoon, 0s);
  calendar.steer(kNoon + 900ms, 1s);
  CHECK(calendar.at(1s) == kNoon + 1s);
  CHECK(calendar.at(1s + 1ms) > kNoon + 1s);
  CHECK(calendar.at(2s) == kNoon + 2s - 5ms);
}

TEST_CASE("clock: after a step it still drifts with the wall clock") {
  SteadyCalendar calendar(kNoon, 0s);
  calendar.steer(kNoon + 1h + 1s, 1s);
  calendar.steer(kNoon + 1h + 2s + 3ms, 2s);
  CHECK(calendar.wall().ahead == 1h);
  CHECK(calendar.at(3s) == kNoon + 3s + 3ms);
}

TEST_CASE("clock: it goes on from a later time, and the wall clock is behind then") {
  SteadyCalendar calendar(kNoon, 0s);
  calendar.jump(kNoon + 1h, 1s);
  CHECK(calendar.at(2s) == kNoon + 1h + 1s);
  calendar.steer(kNoon + 2s, 2s);
  CHECK(calendar.wall().ahead == 1s - 1h);
}

TEST_CASE("clock: a small difference is made up within one interval and not overdone") {
  SteadyCalendar calendar(kNoon, 0s);
  calendar.steer(kNoon + 1s + 2ms, 1s);
  CHECK(calendar.at(2s) == kNoon + 2s + 2ms);
  CHECK(calendar.at(600s) == kNoon + 600s + 2ms);
}

TEST_CASE("clock: the system clock is near the calendar and does not go backwards") {
  SystemClock clock;
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  const Time first = clock.now();
  CHECK(std::chrono::abs(first.time_since_epoch() - wall) < 1s);
  CHECK(clock.now() >= first);
}

TEST_CASE("clock: the system clock goes on from a time that a journal tells") {
  SystemClock clock;
  const Time first = clock.now();
  clock.go_on_from(first - 1h);
  CHECK(clock.now() < first + 1min);
  clock.go_on_from(first + 1h);
  CHECK(clock.now() >= first + 1h);
  CHECK(std::chrono::abs(clock.look().ahead + 1h) < 1min);
}

}  // namespace
}  // namespace millrace::server
