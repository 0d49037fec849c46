#include "faktory/session/long_report.hpp"

#include <string>

#include "faktory/session/command.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

std::string report_of(std::string_view line, std::size_t piece) {
  LongReport report;
  for (std::size_t at = 0; at < line.size(); at += piece) report.add(line.substr(at, piece));
  CHECK(report.bytes() == line.size());
  return report.finish();
}

Fail fail_of(const std::string& line) {
  const Result<Command, Refused> command = parse_command(line);
  REQUIRE(command);
  return std::get<Fail>(*command);
}

}  // namespace

TEST_CASE("long reports: of a FAIL its members and the beginning of its texts are kept") {
  const std::string text(5'000'000, 'x');
  const std::string line = R"(FAIL {"sql":")" + text + R"(","backtrace":[")" + text + R"(","b"],)" +
                           R"("message":" )" + text + R"(","errtype":"E","jid":"job-00001"})";
  const std::string report = report_of(line, 10'007);
  CHECK(report.size() < 30'000);
  const Fail fail = fail_of(report);
  CHECK(fail.jid == "job-00001");
  CHECK(fail.run.errtype == "E");
  CHECK(fail.run.message.starts_with(" xxx"));
  CHECK(fail.run.backtrace.size() == 2);
  CHECK(fail.run.backtrace[1] == "b");
}

TEST_CASE("long reports: of a long backtrace the first entries are kept") {
  std::string line = R"(FAIL {"jid":"job-00001","backtrace":["line 0")";
  for (int i = 1; i < 100'000; ++i) line += ",\"line " + std::to_string(i) + '"';
  const Fail fail = fail_of(report_of(line + "]}\r", 65'536));
  REQUIRE(fail.run.backtrace.size() == 50);
  CHECK(fail.run.backtrace.back() == "line 49");
}

TEST_CASE("long reports: what is no JSON is refused, and says why") {
  const std::string broken = R"(FAIL {"jid":"job-00001","message":")" + std::string(100'000, 'x');
  CHECK(report_of(broken, 1'000) == "FAIL unexpected end of JSON input");
  CHECK(report_of(R"(FAIL {"jid":"job-00001"} and more)", 100) ==
        "FAIL invalid character after top-level value");
}

TEST_CASE("long reports: all that a worker reports of its jobs") {
  CHECK(report_of(R"(ACK {"jid":"a","result":{"rows":[1,2]}})", 20) == R"(ACK {"jid":"a"})");
  CHECK(report_of(R"(BEAT {"wid":"w","rss_kb":1,"current_state":"quiet","x":1})", 20) ==
        R"(BEAT {"wid":"w","rss_kb":1,"current_state":"quiet"})");
  CHECK(report_of(R"(TRACK SET {"jid":"a","percent":1.5,"desc":"d","reserve_until":"","y":2})",
                  20) == R"(TRACK SET {"jid":"a","percent":1.5,"desc":"d","reserve_until":""})");
}

}  // namespace millrace::faktory
