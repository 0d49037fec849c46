#include <algorithm>
#include <string>
#include <string_view>

#include "server/process/logging.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

constexpr Time kFirst{1'700'000'000s};

struct Lasting {
  std::string logged;
  Log log{[this](std::string_view line) { logged += line; }};
  ProblemPeriod problem{{.begun = "away", .over = "back", .gap = 5s}};

  /// What is logged when the text is told at that time: without the time, or nothing.
  std::string tell(const std::string& text, Duration at) {
    logged.clear();
    problem.tell(log, text, kFirst + at);
    return logged.substr(std::min(logged.find(' '), logged.size()));
  }
};

}  // namespace

TEST_CASE("problem period: it is told at once, then once a minute, and its end once") {
  Lasting lasting;
  CHECK(lasting.tell("", 0s).empty());
  CHECK(lasting.tell("one", 1s) == " away problem=one\n");
  CHECK(lasting.tell("two", 60999ms).empty());
  CHECK(lasting.tell("two", 61s) == " away problem=two\n");
  CHECK(lasting.tell("", 62s) == " back\n");
  CHECK(lasting.tell("", 63s).empty());
}

TEST_CASE("problem period: one that comes back is told after the gap, and its end only then") {
  Lasting lasting;
  CHECK_FALSE(lasting.tell("one", 0s).empty());
  CHECK_FALSE(lasting.tell("", 1s).empty());
  CHECK(lasting.tell("two", 2s).empty());
  CHECK(lasting.tell("", 3s).empty());
  CHECK(lasting.tell("two", 5999ms).empty());
  CHECK(lasting.tell("two", 6s) == " away problem=two\n");
  CHECK(lasting.tell("", 7s) == " back\n");
}

TEST_CASE("problem period: a longer gap does not delay what would have been told") {
  Lasting lasting;
  CHECK_FALSE(lasting.tell("one", 0s).empty());
  CHECK_FALSE(lasting.tell("", 58s).empty());
  CHECK(lasting.tell("two", 59s).empty());
  CHECK_FALSE(lasting.tell("two", 60s).empty());
}

}  // namespace millrace::server
