#include "base/number.hpp"

#include <cstdint>

#include "support/doctest.hpp"

namespace millrace {

TEST_CASE("parse_number: the whole text, or nothing") {
  CHECK(parse_number<int>("-7") == -7);
  CHECK(parse_number<double>("0.5") == 0.5);
  CHECK_FALSE(parse_number<int>(""));
  CHECK_FALSE(parse_number<int>(" 7"));
  CHECK_FALSE(parse_number<int>("7 "));
  CHECK_FALSE(parse_number<int>("+7"));
}

TEST_CASE("parse_number: at the type's limit and one past it") {
  CHECK(parse_number<std::uint16_t>("65535") == 65535);
  CHECK_FALSE(parse_number<std::uint16_t>("65536"));
  CHECK_FALSE(parse_number<std::uint16_t>("-1"));
}

}  // namespace millrace
