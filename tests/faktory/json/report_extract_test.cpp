#include "faktory/json/report_extract.hpp"

#include <string>

#include "faktory/session/command.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

/// The extract, or `-`.
std::string extract_of(const std::string& line) {
  return extract_report(line).value_or("-");
}

Fail long_fail_of(std::string line) {
  const Result<Command, Refused> command = parse_long_command(line);
  REQUIRE(command);
  return std::get<Fail>(*command);
}

}  // namespace

TEST_CASE("report extract: all that a worker reports of its jobs") {
  CHECK(extract_of(R"(ACK {"jid":"a","result":{"rows":[1,2]}})") == R"(ACK {"jid":"a"})");
  CHECK(extract_of(R"(BEAT {"wid":"w","rss_kb":1,"current_state":"quiet","x":1})") ==
        R"(BEAT {"wid":"w","rss_kb":1,"current_state":"quiet"})");
  CHECK(extract_of(R"(TRACK SET {"jid":"a","percent":1.50,"desc":"d","reserve_until":"","y":2})") ==
        R"(TRACK SET {"jid":"a","percent":1.50,"desc":"d","reserve_until":""})");
  CHECK(
      extract_of(R"(FAIL {"x":[],"J\u0069D":"a","errtype":null,"message":true,"backtrace":[]})") ==
      R"(FAIL {"JiD":"a","errtype":null,"message":true,"backtrace":[]})");
  CHECK(extract_of("FAIL {}") == "FAIL {}");
  CHECK(extract_of(R"(FAIL {"x":1})") == "FAIL {}");
}

TEST_CASE("report extract: keeps the type of a member, and nothing inside of it") {
  CHECK(extract_of(R"(FAIL {"jid":{"jid":"x"},"message":{"a":[1]}})") ==
        R"(FAIL {"jid":{},"message":{}})");
  CHECK(extract_of(R"(FAIL {"backtrace":["a",1,{"jid":[2]},[3],null,-1.5e3]})") ==
        R"(FAIL {"backtrace":["a",1,{},[],null,-1.5e3]})");
  CHECK(extract_of(R"(FAIL {"x":{"jid":"y","backtrace":["z"]},"jid":"a"})") ==
        R"(FAIL {"jid":"a"})");
}

TEST_CASE("report extract: of a FAIL the beginning of its texts") {
  const std::string text(5'000'000, 'x');
  const std::string line = R"(FAIL {"sql":")" + text + R"(","backtrace":[")" + text + R"(","b"],)" +
                           R"("message":" )" + text + R"(","errtype":"E","jid":"job-00001"})";
  CHECK(extract_of(line).size() < 30'000);
  const Fail fail = long_fail_of(line);
  CHECK(fail.jid == "job-00001");
  CHECK(fail.run.errtype == "E");
  CHECK(fail.run.message.starts_with(" xxx"));
  CHECK(fail.run.backtrace.size() == 2);
  CHECK(fail.run.backtrace[1] == "b");
}

TEST_CASE("report extract: of a long backtrace the first entries") {
  std::string line = R"(FAIL {"jid":"job-00001","backtrace":["line 0")";
  for (int i = 1; i < 100'000; ++i) line += ",\"line " + std::to_string(i) + '"';
  const Fail fail = long_fail_of(line + "]}");
  REQUIRE(fail.run.backtrace.size() == 50);
  CHECK(fail.run.backtrace.back() == "line 49");
}

TEST_CASE("report extract: odd text in it is repaired") {
  CHECK(extract_of("FAIL {\"jid\":\"a\xFF\",\"message\":\"\\ud800\"}") ==
        "FAIL {\"jid\":\"a\xEF\xBF\xBD\",\"message\":\"\xEF\xBF\xBD\"}");
  CHECK(extract_of(std::string("FAIL {\"jid\":\"a\0\\\"\x01\",\t\"x\":\"\t\"}", 29)) ==
        "FAIL {\"jid\":\"a\xEF\xBF\xBD\\\"\xEF\xBF\xBD\"}");
}

TEST_CASE("report extract: nesting at the limit, and one past it") {
  const auto nested = [](int depth) {
    const auto brackets = static_cast<std::size_t>(depth);
    return std::string(brackets, '[') + std::string(brackets, ']');
  };
  CHECK(extract_of("FAIL {\"x\":" + nested(kExtractNestingMax - 1) + ",\"jid\":\"a\"}") ==
        R"(FAIL {"jid":"a"})");
  CHECK(extract_of("FAIL {\"x\":" + nested(kExtractNestingMax) + ",\"jid\":\"a\"}") == "-");
}

TEST_CASE("report extract: what is no JSON") {
  for (const char* const line :
       {"FAIL", "FAIL ", "FAIL null", "FAIL []", "FAIL {", R"(FAIL {"jid":"a"} x)",
        R"(FAIL {"x":01,"jid":"a"})", R"(FAIL {"x":"\q","jid":"a"})", R"(FAIL {"jid":"a",})",
        "FAIL {\"jid\":\"a\",\x01}", R"(FAIL {"jid":"a")"}) {
    CAPTURE(line);
    CHECK(extract_of(line) == "-");
  }
}

TEST_CASE("long command: a report that is no JSON is refused as a short one is") {
  std::string line = R"(FAIL {"jid":"job-00001","message":")" + std::string(100'000, 'x');
  const Result<Command, Refused> refused = parse_long_command(line);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().reason == Refused::Reason::kInvalidFail);
  CHECK(refused.error().text.starts_with(R"({"jid":"job-00001")"));
}

TEST_CASE("long command: numbers of any size are no reason to lose a failure") {
  CHECK(
      long_fail_of(R"(FAIL {"jid":"a","x":1e999,"y":")" + std::string(100'000, 'y') + "\"}").jid ==
      "a");
}

}  // namespace millrace::faktory
