#include "server/process/logging.hpp"

#include <algorithm>
#include <string>

#include "support/doctest.hpp"

namespace millrace::server {
namespace {

struct CapturedLog {
  std::string text;
  Log log{[this](std::string_view line) { text += line; }};
  /// Without the timestamp and the line feed.
  [[nodiscard]] std::string line() const { return text.substr(25, text.size() - 26); }

  /// The text before it, with every digit as 0.
  [[nodiscard]] std::string shape() const {
    std::string shape = text.substr(0, 25);
    std::replace_if(
        shape.begin(), shape.end(), [](char c) { return c >= '0' && c <= '9'; }, '0');
    return shape;
  }
};

TEST_CASE("log: routine events can be left out, others cannot") {
  std::string text;
  const auto sink = [&](std::string_view line) { text += line; };
  Log(sink).routine("stopped", {{"connections", 3}});
  CHECK(text.find(" stopped connections=3\n") != std::string::npos);
  text.clear();
  const Log quiet(sink, Log::Routine::kLeftOut);
  quiet.routine("stopped");
  CHECK(text.empty());
  quiet.event("torn_tail_cut");
  CHECK(text.find(" torn_tail_cut\n") != std::string::npos);
}

TEST_CASE("log: as JSON, a line is an object with the time, the event, and what belongs to it") {
  std::string text;
  const Log log([&](std::string_view line) { text += line; }, Log::Routine::kLogged,
                LogFormat::kJson);
  log.event("queue_odd", {{"name", "a \"b\"\n\xff"}, {"jobs", 3}, {"digits", "007"}});
  CHECK(text.substr(0, 9) == "{\"time\":\"");
  CHECK(text.substr(text.find("Z\"")) ==
        "Z\",\"event\":\"queue_odd\",\"name\":\"a \\\"b\\\"\\n\xEF\xBF\xBD\",\"jobs\":3,"
        "\"digits\":\"007\"}\n");
}

TEST_CASE("log: a line is a time, an event, and what belongs to it") {
  CapturedLog captured;
  captured.log.event("stopped", {{"connections", 3}, {"why", "signal"}});
  CHECK(captured.line() == "stopped connections=3 why=signal");
  CHECK(captured.shape() == "0000-00-00T00:00:00.000Z ");
  CHECK(captured.text.back() == '\n');
}

TEST_CASE("log: a time before 1970 is written like any other") {
  using std::chrono::system_clock;
  CHECK(timestamp(system_clock::time_point(-5'000'462ms)) == "1969-12-31T22:36:39.538Z");
  CHECK(timestamp(system_clock::time_point(-1ms)) == "1969-12-31T23:59:59.999Z");
  CHECK(timestamp(system_clock::time_point(1ms)) == "1970-01-01T00:00:00.001Z");
}

TEST_CASE("log: a value that could be misread is quoted") {
  CapturedLog captured;
  captured.log.event("e", {{"a", "two words"}, {"b", ""}, {"c", "x=\"y\""}});
  CHECK(captured.line() == R"(e a="two words" b="" c="x=\"y\"")");
}

TEST_CASE("log: a value cannot begin a line of its own") {
  CapturedLog captured;
  captured.log.event("e", {{"a", "x\nforged event"}});
  CHECK(captured.line() == R"(e a="x\nforged event")");
}

TEST_CASE("log: a value has nothing that a terminal obeys or nobody sees") {
  CapturedLog captured;
  captured.log.event("e", {{"a", "\x1b[1m\x7f\u009b"}, {"b", "\u202e\u2066\u200f\u2028\u200b"}});
  CHECK(captured.line() == R"(e a="\x1b[1m\x7f\x9b" b="\u{202e}\u{2066}\u{200f}\u{2028}\u{200b}")");
  CapturedLog other;
  other.log.event("e", {{"a", "gr\u00fc\u00dfe"}, {"b", "\xff"}, {"c", "\\x1b"}});
  CHECK(other.line() == "e a=\"gr\u00fc\u00dfe\" b=\"\\xff\" c=\"\\\\x1b\"");
}

TEST_CASE("log limit: admits one in an interval and counts the rest") {
  LogLimit limit(10s);
  CHECK(limit.admits(Time{100s}));
  CHECK_FALSE(limit.admits(Time{101s}));
  CHECK_FALSE(limit.admits(Time{109s}));
  CHECK(limit.admits(Time{110s}));
  CHECK(limit.skipped() == 2);
}

}  // namespace
}  // namespace millrace::server
