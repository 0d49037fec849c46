#include "base/duration.hpp"

#include "support/doctest.hpp"

namespace millrace {

using namespace std::chrono_literals;

TEST_CASE("duration: numbers with units, as Go has them") {
  CHECK(parse_duration("0") == 0ns);
  CHECK(parse_duration("5s") == 5s);
  CHECK(parse_duration("30m") == 30min);
  CHECK(parse_duration("7d") == 7 * 24h);
  CHECK(parse_duration("1d12h") == 36h);
  CHECK(parse_duration("1478s") == 1478s);
  CHECK(parse_duration("1h30m5s") == 1h + 30min + 5s);
  CHECK(parse_duration("3h30m3h") == 6h + 30min);
  CHECK(parse_duration("1h2m3s4ms5us6ns") == 1h + 2min + 3s + 4ms + 5us + 6ns);
  CHECK(parse_duration("10ns11us12\xC2\xB5s13\xCE\xBCs") == 36'010ns);
}

TEST_CASE("duration: signs and fractions") {
  CHECK(parse_duration("-5s") == -5s);
  CHECK(parse_duration("+5s") == 5s);
  CHECK(parse_duration("-0") == 0ns);
  CHECK(parse_duration("+0") == 0ns);
  CHECK(parse_duration("1.5h") == 90min);
  CHECK(parse_duration("5.s") == 5s);
  CHECK(parse_duration(".5s") == 500ms);
  CHECK(parse_duration("1.004s") == 1004ms);
  CHECK(parse_duration("-2m3.4s") == -(2min + 3400ms));
  CHECK(parse_duration("0.3333333333333333333h") == 20min);
  CHECK(parse_duration("0.100000000000000000000h") == 6min);
  CHECK(parse_duration("0.830103483285477580700h") == 49min + 48s + 372539827ns);
}

TEST_CASE("duration: 64 bits of nanoseconds, and no more") {
  CHECK(parse_duration("9223372036854775807ns") == std::chrono::nanoseconds::max());
  CHECK(parse_duration("9223372036854775.807us") == std::chrono::nanoseconds::max());
  CHECK(parse_duration("-9223372036854775808ns") == std::chrono::nanoseconds::min());
  CHECK(parse_duration("-2562047h47m16.854775808s") == std::chrono::nanoseconds::min());
  CHECK_FALSE(parse_duration("9223372036854775808ns"));
  CHECK_FALSE(parse_duration("9223372036854775.808us"));
  CHECK_FALSE(parse_duration("-9223372036854775809ns"));
  CHECK_FALSE(parse_duration("9223372036854775807ns1ns"));
  CHECK_FALSE(parse_duration("9223372036854ms775us808ns"));
  CHECK_FALSE(parse_duration("2562048h"));
  CHECK_FALSE(parse_duration("3000000h"));
  CHECK_FALSE(parse_duration("99999999999999999999s"));
}

TEST_CASE("duration: what is none") {
  for (const char* const text :
       {"",    "3",   "-",    "+",    "s",     ".",  "-.",   ".s",    "+.s",    "1w",   "5 s",
        " 5s", "5s ", "--5s", "1e3s", "1h-5m", "5S", "0x5s", "\xB5s", "1\xB5s", "1..5s"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_duration(text));
  }
}

TEST_CASE("duration: whole units, which plain numbers count") {
  const auto seconds = parse_whole<std::chrono::seconds>;
  CHECK(seconds("90") == 90s);
  CHECK(seconds("1m30s") == 90s);
  CHECK(seconds("1.5m") == 90s);
  CHECK(seconds("0") == 0s);
  CHECK(seconds("4294967295") == 4'294'967'295s);
  for (const char* const text : {"1.5s", "1.5", "-1s", "-1", "+1", "4294967296", "", "s"}) {
    CAPTURE(text);
    CHECK_FALSE(seconds(text));
  }
  CHECK(parse_whole<std::chrono::milliseconds>("1.5s") == 1500ms);
  CHECK(parse_whole<std::chrono::milliseconds>("250") == 250ms);
}

}  // namespace millrace
