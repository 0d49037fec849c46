#include "http/routes/measures/line.hpp"

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

}  // namespace millrace::http
