#include "cli/show/times.hpp"

#include "support/doctest.hpp"

namespace millrace::cli {

TEST_CASE("duration: a number of seconds, or numbers with units") {
  CHECK(parse_seconds("90") == 90u);
  CHECK(parse_seconds("90s") == 90u);
  CHECK(parse_seconds("30m") == 1800u);
  CHECK(parse_seconds("2h") == 7200u);
  CHECK(parse_seconds("7d") == 604'800u);
  CHECK(parse_seconds("1.5h") == 5400u);
  CHECK(parse_seconds("1h30m") == 5400u);
}

TEST_CASE("duration: other texts are none") {
  for (const char* text : {"", "0", "0h", "h", "-1h", "1 h", "1.5s", "1w", "1hh"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_seconds(text));
  }
  CHECK(parse_seconds("36600d"));
  CHECK_FALSE(parse_seconds("36601d"));
  CHECK_FALSE(parse_seconds("18446744073709551615d"));
}

TEST_CASE("time: read as the server writes it, and written alike") {
  CHECK(parse_time_ms("1970-01-01T00:00:00.001Z") == 1);
  CHECK(parse_time_ms("2026-11-21T00:59:20.184Z") == 1'795'222'760'184);
  CHECK(show_time_ms(1'795'222'760'184) == "2026-11-21T00:59:20.184Z");
  CHECK_FALSE(parse_time_ms("2026-11-21T00:59:20Z"));
  CHECK_FALSE(parse_time_ms("2026-13-21T00:59:20.184Z"));
  CHECK_FALSE(parse_time_ms(""));
}

TEST_CASE("age: in the largest whole unit") {
  CHECK(show_age(0) == "0s");
  CHECK(show_age(59'999) == "59s");
  CHECK(show_age(60'000) == "1m");
  CHECK(show_age(3'599'999) == "59m");
  CHECK(show_age(86'400'000 * 12) == "12d");
  CHECK(show_age(-5'000) == "-5s");
  CHECK(show_age(-999) == "0s");
}

}  // namespace millrace::cli
