#include "http/kit/node_report.hpp"

#include <cstdint>

#include "support/doctest.hpp"

namespace millrace::http {
namespace {

const NodeReport kReport{.node = "b",
                         .instance = UINT64_MAX,
                         .epoch = 7,
                         .version = "0.1",
                         .ports = "web=b:7420",
                         .applied = 41,
                         .lag_seconds = 0.25,
                         .problem = "no route to \"ä\"\n",
                         .out_of_reach = "faktory web=127.0.0.1:7420"};

}  // namespace

TEST_CASE("node report: what is written is read") {
  const auto read = decode_report(encode(kReport));
  REQUIRE(read);
  CHECK(*read == kReport);
}

TEST_CASE("node report: it is one line of ASCII, since it is sent in a header") {
  for (const char c : encode(kReport)) CHECK((c >= ' ' && c <= '~'));
}

TEST_CASE("node report: what newer versions add is ignored, and what they omit is empty") {
  const auto read = decode_report(R"({"node":"b","shoe_size":[43],"applied":"many"})");
  REQUIRE(read);
  CHECK(*read == NodeReport{.node = "b"});
}

TEST_CASE("node report: nonsense is refused") {
  CHECK_FALSE(decode_report(""));
  CHECK_FALSE(decode_report("[]"));
  CHECK_FALSE(decode_report("{"));
  CHECK_FALSE(decode_report(R"({"version":"1"})"));
  CHECK_FALSE(decode_report(std::string(kReportBytesMax + 1, ' ')));
  CHECK_FALSE(decode_report(encode({.node = std::string(kReportTextMax + 1, 'n')})));
}

}  // namespace millrace::http
