#include "http/routes/measures/line.hpp"

#include <vector>

#include "support/doctest.hpp"

namespace millrace::http {

TEST_CASE("small number: it is exact up to 2047, and none at first") {
  CHECK_FALSE(SmallNumber().value());
  CHECK(SmallNumber(0).value() == 0);
  CHECK(SmallNumber(1).value() == 1);
  CHECK(SmallNumber(2047).value() == 2047);
}

TEST_CASE("small number: a large one is right to a part in two thousand") {
  CHECK(SmallNumber(4095).value() == 4096);
  CHECK(SmallNumber(123'456'789).value().value() / 100'000 == 1'234);
  CHECK(SmallNumber(1'000'000'000'000).value().value() / 1'000'000'000 == 1'000);
}

TEST_CASE("small number: what is too large is the largest one") {
  const auto largest = SmallNumber(~std::uint64_t{0}).value();
  CHECK(largest == std::uint64_t{2046} << 31U);
  CHECK(SmallNumber(std::uint64_t{1} << 43U).value() == largest);
}

TEST_CASE("line: a block has the points that the ring still has") {
  const Time begin{900s * 1'000'000};
  const Ends first = ends_at(begin + 10s);
  Reading reading;
  Line line(reading, first, false);
  const auto read_until = [&](std::int64_t points) {
    for (std::int64_t i = line.end() - first.front() + 1; i < points; ++i) {
      ++reading.enqueued;
      line.note(reading, ends_at(begin + 10s * (i + 1)));
    }
  };
  const Block block{.span = 0, .number = 1'000'000};
  CHECK(line.points_in(block).empty());
  read_until(90);
  std::vector<Point> points = line.points_in(block);
  REQUIRE(points.size() == 90);
  CHECK(points[0].enqueued.value() == 0);
  CHECK(points[89].enqueued.value() == 1);
  read_until(92);
  points = line.points_in(block);
  CHECK_FALSE(points[1].enqueued.value());
  CHECK(points[2].enqueued.value() == 1);
  CHECK(line.points_in({.span = 0, .number = 999'999}).empty());
}

}  // namespace millrace::http
