#include <string>

#include "server/statsd.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

std::string told(const StatsdRuns& runs) {
  std::string text;
  runs.each([&](Duration took, std::string_view queue, std::string_view jobtype) {
    text +=
        std::to_string(took / 1ms) + " " + std::string(queue) + " " + std::string(jobtype) + ";";
  });
  return text;
}

}  // namespace

TEST_CASE("statsd runs: each as it was added") {
  StatsdRuns runs;
  CHECK(runs.is_empty());
  runs.add(3ms, "mail", "Send");
  runs.add(0ms, "", "");
  runs.add(5ms, std::string("a\0b", 3), "x");
  CHECK(told(runs) == "3 mail Send;0  ;5 " + std::string("a\0b", 3) + " x;");
  CHECK_FALSE(runs.is_empty());
}

TEST_CASE("statsd runs: what does not fit is counted") {
  StatsdRuns runs;
  const std::string name(60'000, 'x');
  for (int i = 0; i < 20; ++i) runs.add(1ms, name, "");
  CHECK(runs.left_out() == 3);
  runs.add(1ms, "q", "");
  CHECK(runs.left_out() == 3);
}

}  // namespace millrace::server
