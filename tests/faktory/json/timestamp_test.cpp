#include "faktory/json/timestamp.hpp"

#include <string>

#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

Time at(std::int64_t seconds, std::int64_t nanoseconds = 0) {
  return Time{std::chrono::seconds{seconds} + Duration{nanoseconds}};
}

}  // namespace

TEST_CASE("format_time: no fraction when there is none") {
  CHECK(format_time(at(1'700'000'000)) == "2023-11-14T22:13:20Z");
}

TEST_CASE("format_time: up to nine fraction digits without trailing zeros") {
  CHECK(format_time(at(1'700'000'000, 184'565'630)) == "2023-11-14T22:13:20.18456563Z");
  CHECK(format_time(at(1'700'000'000, 1)) == "2023-11-14T22:13:20.000000001Z");
}

TEST_CASE("format_time: before 1970") {
  CHECK(format_time(at(-1, 500'000'000)) == "1969-12-31T23:59:59.5Z");
}

TEST_CASE("format_time: the first and last of what can be held") {
  CHECK(format_time(Time::min()) == "1677-09-21T00:12:43.145224192Z");
  CHECK(format_time(Time::max()) == "2262-04-11T23:47:16.854775807Z");
}

TEST_CASE("format_clock: hours, minutes and seconds") {
  CHECK(format_clock(at(1'700'000'000)) == "22:13:20 UTC");
  CHECK(format_clock(at(61)) == "00:01:01 UTC");
}

TEST_CASE("parse_time: what format_time writes") {
  CHECK(parse_time("2023-11-14T22:13:20Z") == at(1'700'000'000));
  CHECK(parse_time("2023-11-14T22:13:20.18456563Z") == at(1'700'000'000, 184'565'630));
}

TEST_CASE("parse_time: offsets") {
  CHECK(parse_time("2023-11-15T00:13:20+02:00") == at(1'700'000'000));
  CHECK(parse_time("2023-11-14T18:43:20-03:30") == at(1'700'000'000));
  CHECK(parse_time("2023-11-15T23:13:20+25:00") == at(1'700'000'000));
}

TEST_CASE("parse_time: a comma as in ISO 8601, one hour digit, more than nine digits") {
  CHECK(parse_time("2023-11-14T22:13:20,5Z") == at(1'700'000'000, 500'000'000));
  CHECK(parse_time("1970-01-01T1:00:00Z") == at(3600));
  CHECK(parse_time("1970-01-01T00:00:00.1234567899Z") == at(0, 123'456'789));
}

TEST_CASE("parse_time: a leap day exists in leap years only") {
  CHECK(parse_time("2024-02-29T00:00:00Z") == at(1'709'164'800));
  CHECK_FALSE(parse_time("2023-02-29T00:00:00Z"));
}

TEST_CASE("parse_time: what no time is") {
  CHECK_FALSE(parse_time(""));
  CHECK_FALSE(parse_time("tomorrow"));
  CHECK_FALSE(parse_time("2023-11-14"));
  CHECK_FALSE(parse_time("2023-11-14t22:13:20Z"));
  CHECK_FALSE(parse_time("2023-11-14T22:13:20z"));
  CHECK_FALSE(parse_time("2023-11-14 22:13:20Z"));
  CHECK_FALSE(parse_time("2023-11-14T22:13:20"));
  CHECK_FALSE(parse_time("2023-11-14T22:13:20+0200"));
  CHECK_FALSE(parse_time("2023-11-14T22:13:60Z"));
  CHECK_FALSE(parse_time("2023-11-14T24:00:00Z"));
  CHECK_FALSE(parse_time("2023-13-01T00:00:00Z"));
  CHECK_FALSE(parse_time("2023-11-31T00:00:00Z"));
  CHECK_FALSE(parse_time("2023-11-14T22:13:20.Z"));
  CHECK_FALSE(parse_time("2023-11-14T22:13:20Zx"));
  CHECK_FALSE(parse_time(" 2023-11-14T22:13:20Z"));
  CHECK_FALSE(parse_time("2023-11-14T22:1:20Z"));
  CHECK_FALSE(parse_time("23-11-14T22:13:20Z"));
  CHECK_FALSE(parse_time("2023-11-14T22:13:20+02:60"));
}

TEST_CASE("parse_time: what cannot be held becomes the nearest that can") {
  CHECK(parse_time("9999-12-31T23:59:59Z") > parse_time("2262-04-11T23:00:00Z"));
  CHECK(parse_time("9999-12-31T23:59:59.999999999Z") < kNever);
  CHECK(parse_time("0000-01-01T00:00:00Z") < parse_time("1677-09-22T00:00:00Z"));
}

}  // namespace millrace::faktory
