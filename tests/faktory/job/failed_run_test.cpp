#include "faktory/job/failed_run.hpp"

#include <string>

#include "faktory/moment.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

std::string shown(const Failure& failure) {
  std::string out;
  append_failure(failure, {}, out);
  return out;
}

}  // namespace

TEST_CASE("cleaned: empty texts are unknown") {
  const FailedRun run = cleaned({.errtype = " \n", .message = "", .backtrace = {}});
  CHECK(run.errtype == "unknown");
  CHECK(run.message == "unknown");
}

TEST_CASE("cleaned: white space is removed before the cut") {
  const FailedRun run = cleaned({.errtype = "  " + std::string(100, 'e') + "x",
                                 .message = " " + std::string(1000, 'm') + "x ",
                                 .backtrace = {}});
  CHECK(run.errtype == std::string(100, 'e'));
  CHECK(run.message == std::string(1000, 'm'));
}

TEST_CASE("cleaned: a sequence cut in two becomes U+FFFD") {
  const FailedRun run =
      cleaned({.errtype = std::string(99, 'e') + "\xC3\xA9", .message = "m", .backtrace = {}});
  CHECK(run.errtype == std::string(99, 'e') + "\xEF\xBF\xBD");
}

TEST_CASE("cleaned: backtrace at its limits and one past them") {
  const std::string longest(kBacktraceEntryBytesMax, 'b');
  const FailedRun run = cleaned(
      {.errtype = "e", .message = "m", .backtrace = std::vector<std::string>(51, longest + 'x')});
  CHECK(run.backtrace == std::vector<std::string>(50, longest));
}

TEST_CASE("append_failure: everything in order") {
  Failure failure{.retry_count = 1,
                  .remaining = 2,
                  .failed_at = kNow,
                  .next_at = kNow + 1500ms,
                  .errtype = "E\"",
                  .message = "m",
                  .backtrace = {"a", "b"}};
  CHECK(shown(failure) ==
        R"({"failed_at":"2023-11-14T22:13:20Z","next_at":"2023-11-14T22:13:21.5Z","message":"m",)"
        R"("errtype":"E\"","backtrace":["a","b"],"retry_count":1,"remaining":2})");
}

TEST_CASE("append_failure: next_at and backtrace only when there are any") {
  Failure failure{.retry_count = 0,
                  .remaining = -1,
                  .failed_at = kNow,
                  .next_at = {},
                  .errtype = "E",
                  .message = "m",
                  .backtrace = {}};
  CHECK(shown(failure) ==
        R"({"failed_at":"2023-11-14T22:13:20Z","message":"m","errtype":"E","retry_count":0,)"
        R"("remaining":-1})");
}

TEST_CASE("parse_failure: what append_failure writes") {
  const std::string text =
      R"({"failed_at":"2023-11-14T22:13:20Z","next_at":"2023-11-14T22:13:21.5Z","message":"m",)"
      R"("errtype":"E","backtrace":["a"],"retry_count":3,"remaining":22})";
  const Outcome<Failure> failure = parse_failure(text, Time{}, {});
  REQUIRE(failure);
  CHECK(shown(*failure) == text);
}

TEST_CASE("parse_failure: what is missing or no time") {
  const Outcome<Failure> failure = parse_failure(R"({"next_at":"soon"})", kNow, {});
  REQUIRE(failure);
  CHECK(failure->failed_at == kNow);
  CHECK(failure->next_at == Time{});
  CHECK(failure->errtype == "unknown");
}

TEST_CASE("parse_failure: wrong types") {
  CHECK_FALSE(parse_failure(R"({"retry_count":"1"})", kNow, {}));
  CHECK_FALSE(parse_failure(R"({"backtrace":"x"})", kNow, {}));
  CHECK_FALSE(parse_failure(R"({"message":1})", kNow, {}));
}

TEST_CASE("is_release: what a worker reports that stops") {
  const auto gives_back = [](const std::string& errtype, const std::string& message = "m") {
    return is_release({.errtype = errtype, .message = message, .backtrace = {"a"}}, true);
  };
  for (const char* const name : {"MillraceRelease", "main.MillraceRelease", "*jobs.MillraceRelease",
                                 "Jobs::MillraceRelease", "App\\Jobs\\MillraceRelease"}) {
    CAPTURE(name);
    CHECK(gives_back(name));
  }
  CHECK(gives_back("Faktory::Shutdown"));
  for (const char* const name :
       {"unknown", "", "NotMillraceRelease", "MillraceReleased", "Shutdown",
        "MillraceRelease.Error", "Interrupt", "millracerelease"}) {
    CAPTURE(name);
    CHECK_FALSE(gives_back(name));
  }
}

TEST_CASE("is_release: the Rust library has one error type for everything") {
  const auto gives_back = [](const std::string& message, bool is_terminating) {
    return is_release({.errtype = "unknown", .message = message, .backtrace = {}}, is_terminating);
  };
  CHECK(gives_back("termination signal received from user space", true));
  CHECK_FALSE(gives_back("termination signal received from user space", false));
  CHECK(gives_back("terminated", true));
  // A job's own error may say so.
  CHECK_FALSE(gives_back("terminated", false));
  CHECK_FALSE(gives_back("unknown", true));
}

}  // namespace millrace::faktory
