#include "journal/writer/space_watch.hpp"
#include "support/doctest.hpp"

namespace millrace::journal {
namespace {

constexpr std::chrono::milliseconds kPause{5};
constexpr FreeingPace::Time kStart{std::chrono::hours(1)};

}  // namespace

TEST_CASE("freeing: while nothing is written, a little is due after each pause") {
  FreeingPace pace(kPause);
  CHECK(pace.due(0, kStart) == kFreedBytesMin);
  pace.freed(kStart);
  CHECK(pace.next() == kStart + kPause);
  CHECK(pace.due(0, pace.next() - std::chrono::nanoseconds(1)) == 0);
  CHECK(pace.due(0, pace.next()) == kFreedBytesMin);
}

TEST_CASE("freeing: what was written is due several times over, as soon as it is enough") {
  FreeingPace pace(kPause);
  pace.freed(kStart);
  CHECK(pace.due(kFreedBytesMin / kFreePace - 1, kStart) == 0);
  CHECK(pace.due(1, kStart) == kFreedBytesMin);
  CHECK(pace.due(kFreedBytesMin, kStart) == (1 + kFreePace) * kFreedBytesMin);
}

TEST_CASE("freeing: what was freed is not due again") {
  FreeingPace pace(kPause);
  CHECK(pace.due(10 * kFreedBytesMin, kStart) == 10 * kFreePace * kFreedBytesMin);
  pace.freed(kStart);
  CHECK(pace.due(0, kStart) == 0);
}

TEST_CASE("freeing: without a pause something is always due") {
  FreeingPace pace(std::chrono::milliseconds{0});
  pace.freed(kStart);
  CHECK(pace.due(0, kStart) == kFreedBytesMin);
}

}  // namespace millrace::journal
