#include "core/model/wall_clock.hpp"

#include "support/doctest.hpp"

namespace millrace {

TEST_CASE("wall clock: a time is shown with what the clock is ahead, and back") {
  constexpr Time kNoon{1'000'000'000s};
  const WallClock clock{.ahead = 5h};
  CHECK(clock.shown(kNoon) == kNoon + 5h);
  CHECK(clock.steady(kNoon + 5h) == kNoon);
  CHECK(WallClock{}.shown(kNoon) == kNoon);
}

TEST_CASE("wall clock: no time stays no time") {
  const WallClock clock{.ahead = -5h};
  CHECK(clock.shown(Time{}) == Time{});
  CHECK(clock.shown(kNever) == kNever);
  CHECK(clock.steady(Time{}) == Time{});
  CHECK(clock.steady(kNever) == kNever);
}

TEST_CASE("wall clock: what does not fit into a time is its first or its last") {
  const WallClock clock{.ahead = 5h};
  CHECK(clock.shown(Time::max() - 1s) == Time::max());
  CHECK(clock.steady(Time::min() + 1s) == Time::min());
}

}  // namespace millrace
