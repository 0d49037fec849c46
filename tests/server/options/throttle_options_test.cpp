#include "server/options/throttle_options.hpp"

#include "support/doctest.hpp"
#include "support/scratch.hpp"

namespace millrace::server {
namespace {

Outcome<std::vector<ThrottleRule>> read_rules(const std::vector<std::string>& files) {
  const auto documents = read_each(files);
  if (!documents) return documents.error();
  return read_throttles(*documents);
}

std::vector<ThrottleRule> rules_in(const std::string& text) {
  const Scratch scratch;
  auto rules = read_rules({scratch.write("a.toml", text)});
  REQUIRE_MESSAGE(rules, rules.error().text);
  return std::move(*rules);
}

/// Without the directory in front.
std::string problem_in(const std::vector<std::string>& texts) {
  const Scratch scratch;
  std::vector<std::string> files;
  for (const std::string& text : texts) {
    files.push_back(scratch.write(std::string(1, static_cast<char>('a' + files.size())), text));
  }
  const auto rules = read_rules(files);
  REQUIRE_FALSE(rules);
  std::string problem = rules.error().text;
  const std::string folder = scratch.path("");
  for (std::size_t at = problem.find(folder); at != std::string::npos; at = problem.find(folder)) {
    problem.erase(at, folder.size());
  }
  return problem;
}

std::string limits_problem(const std::string& limits) {
  return problem_in({"[throttles]\nq = " + limits + "\n"});
}

constexpr const char* kTimeoutIsMissing =
    "a:2: throttles.q: timeout is missing: after how many seconds a job counts no more";

}  // namespace

TEST_CASE("throttles table: each line has the limits of a queue") {
  const auto rules = rules_in(
      "data = \"/var\"\n[throttles]\n"
      "instagram = { concurrency = 4, timeout = 60 }\n"
      "\"bulk-*\" = { worker = 5, timeout = 70 }\n");
  const std::vector<ThrottleRule> expected{
      {.pattern = "bulk-*", .limits = {.worker = 5, .timeout_s = 70}},
      {.pattern = "instagram", .limits = {.concurrency = 4, .timeout_s = 60}}};
  CHECK(rules == expected);
}

TEST_CASE("throttles table: a queue may have all kinds of limits") {
  const auto rules = rules_in(
      "[throttles.q]\nconcurrency = 9\nworker = 1\ntimeout = 1\nrate = { count = 100, per = 60 }");
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].limits ==
        ThrottleLimits{
            .concurrency = 9, .worker = 1, .timeout_s = 1, .rate_count = 100, .rate_s = 60});
}

TEST_CASE("throttles table: a rate needs no timeout") {
  CHECK(rules_in("[throttles]\nq = { rate = { count = 1, per = 1 } }").size() == 1);
}

TEST_CASE("throttles table: it may be empty, or missing") {
  CHECK(rules_in("[throttles]\n# q = { concurrency = 1, timeout = 1 }\n").empty());
  CHECK(rules_in("data = \"/var\"").empty());
  CHECK(read_throttles({})->empty());
}

TEST_CASE("throttles table: a limit is a whole number from 1 to its bound") {
  const std::string expected =
      "a:2: throttles.q: concurrency must be a whole number from 1 to 1000000";
  CHECK(limits_problem("{ concurrency = 0, timeout = 60 }") == expected);
  CHECK(limits_problem("{ concurrency = -1, timeout = 60 }") == expected);
  CHECK(limits_problem("{ concurrency = 1.5, timeout = 60 }") == expected);
  CHECK(limits_problem("{ concurrency = \"4\", timeout = 60 }") == expected);
  CHECK(limits_problem("{ concurrency = true, timeout = 60 }") == expected);
  CHECK(limits_problem("{ concurrency = 1000001, timeout = 60 }") == expected);
  CHECK(rules_in("[throttles]\nq = { concurrency = 1000000, timeout = 1000000000 }").size() == 1);
  CHECK(limits_problem("{ concurrency = 1, timeout = 1000000001 }") ==
        "a:2: throttles.q: timeout must be a whole number of seconds from 1 to 1000000000, or a "
        "text such as \"1m30s\"");
  CHECK(limits_problem("{ rate = { count = 0, per = 60 } }") ==
        "a:2: throttles.q: rate.count must be a whole number from 1 to 1000000");
}

TEST_CASE("throttles table: times may be texts, as Go writes them") {
  const auto rules = rules_in(
      "[throttles]\nq = { worker = 1, timeout = \"1.5h\", rate = { count = 9, per = \"1m30s\" } }");
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].limits.timeout_s == 5400);
  CHECK(rules[0].limits.rate_s == 90);
  const std::string expected =
      "a:2: throttles.q: timeout must be a whole number of seconds from 1 to 1000000000, or a text "
      "such as \"1m30s\"";
  for (const char* const time : {"0s", "-1s", "1500ms", "1w", "1000000001s", ""}) {
    CAPTURE(time);
    CHECK(limits_problem("{ worker = 1, timeout = \"" + std::string(time) + "\" }") == expected);
  }
  CHECK(limits_problem("{ worker = \"1s\", timeout = 60 }") ==
        "a:2: throttles.q: worker must be a whole number from 1 to 1000000");
}

TEST_CASE("throttles table: concurrency and worker need a timeout") {
  CHECK(limits_problem("{ concurrency = 4 }") == kTimeoutIsMissing);
  CHECK(limits_problem("{ worker = 4 }") == kTimeoutIsMissing);
  CHECK(limits_problem("{ timeout = 4 }") ==
        "a:2: throttles.q: timeout needs concurrency, worker or per_key");
}

TEST_CASE("throttles table: a bracket that is not closed is a mistake") {
  for (const std::string name : {"[", "[a", "a[b", "type:[a", "[a]["}) {
    CAPTURE(name);
    CHECK(problem_in({"[throttles]\n'" + name + "' = { concurrency = 1, timeout = 1 }\n"}) ==
          "a:2: throttles: no ] follows the [ of \"" + name + "\"");
  }
}

TEST_CASE("throttles table: a rate is complete") {
  const std::string expected = "a:2: throttles.q: rate needs count and per";
  CHECK(limits_problem("{ rate = { count = 4, per = 1, more = 2 } }") ==
        "a:2: throttles.q: rate has count and per, and no 'more'");
  CHECK(limits_problem("{ rate = { count = 4 } }") == "a:2: throttles.q: rate needs count and per");
  CHECK(limits_problem("{ rate = { per = 4 } }") == "a:2: throttles.q: rate needs count and per");
  CHECK(limits_problem("{ rate = {} }") == expected);
  CHECK(limits_problem("{ rate = 4 }") == expected);
}

TEST_CASE("throttles table: an unknown member is refused") {
  CHECK(limits_problem("{ concurency = 4 }") ==
        "a:2: throttles.q: unknown member 'concurency'; there are concurrency, worker, per_key, "
        "timeout and rate");
}

TEST_CASE("throttles table: a name with a dot and without quotes is told what it lacks") {
  CHECK(problem_in({"[throttles]\nmail.fast = { concurrency = 1, timeout = 1 }\n"}) ==
        "a:2: throttles.mail: unknown member 'fast.concurrency'; there are concurrency, worker, "
        "per_key, timeout and rate. A name with a dot needs quotes: \"mail.fast\"");
  CHECK(rules_in("[throttles]\n\"mail.fast\" = { concurrency = 1, timeout = 1 }\n").size() == 1);
}

TEST_CASE("throttles table: a name that no queue can have is refused") {
  const auto problem = [](const std::string& name) {
    return problem_in({"[throttles]\n'" + name + "' = { concurrency = 1, timeout = 1 }\n"});
  };
  for (const char* name : {"bad name", "a[ ]b", "mail\\*", "*\xC3\xA9", "a,b"}) {
    CAPTURE(name);
    CHECK(problem(name) ==
          "a:2: throttles: no queue can have the name \"" + std::string(name) + "\"");
  }
  for (const char* name : {"a.b", "a+/;.$_()-9", "?[^a][a-c]*", "[!a]", "[a\\]b]c", "\\a"}) {
    CAPTURE(name);
    CHECK(rules_in("[throttles]\n'" + std::string(name) + "' = { concurrency = 1, timeout = 1 }\n")
              .size() == 1);
  }
}

TEST_CASE("throttles table: what is no table is refused") {
  CHECK(problem_in({"throttles = 4"}) ==
        "a:1: throttles must be a table, with a line for each queue");
  CHECK(limits_problem("4") ==
        "a:2: throttles.q must be a table, as in { concurrency = 4, timeout = 60 }");
  CHECK(limits_problem("{}") ==
        "a:2: throttles.q has no limit, as in { concurrency = 4, timeout = 60 }");
}

TEST_CASE("throttles table: a problem names its file and line") {
  const std::string good = "[throttles]\na = { worker = 1, timeout = 1 }\n";
  CHECK(
      problem_in({good, "[throttles]\n\n# a comment\nb = { worker = 1 }\n"}).starts_with("b:4: "));
  CHECK(problem_in({"[throttles]\nq = {"}).starts_with("a:2: "));
}

TEST_CASE("throttles table: a queue in two files is refused") {
  const std::string text = "[throttles]\nq = { worker = 1, timeout = 1 }\n";
  CHECK(problem_in({text, text}) == "b:2: throttles.q is also at a:2");
}

TEST_CASE("throttles table: a name has a length that a queue may have") {
  const std::string limits = " = { worker = 1, timeout = 1 }";
  CHECK(rules_in("[throttles]\n" + std::string(kQueueNameBytesMax, 'q') + limits).size() == 1);
  const std::string expected = "a:2: throttles: a name must have 1 to 1024 bytes";
  CHECK(problem_in({"[throttles]\n" + std::string(kQueueNameBytesMax + 1, 'q') + limits}) ==
        expected);
  CHECK(problem_in({"[throttles]\n\"\"" + limits}) == expected);
}

TEST_CASE("throttles table: there may be so many lines, and so many patterns") {
  const auto lines = [](std::size_t count, const std::string& end) {
    std::string text = "[throttles]\n";
    for (std::size_t i = 0; i < count; ++i) {
      text += "\"q" + std::to_string(i) + end + "\" = { worker = 1, timeout = 1 }\n";
    }
    return text;
  };
  CHECK(rules_in(lines(kThrottleRulesMax, "")).size() == kThrottleRulesMax);
  CHECK(problem_in({lines(kThrottleRulesMax + 1, "")}).ends_with("more than 10000 throttles"));
  CHECK(rules_in(lines(kThrottlePatternsMax, "*")).size() == kThrottlePatternsMax);
  CHECK(problem_in({lines(kThrottlePatternsMax + 1, "*")})
            .ends_with("more than 100 throttles with a pattern"));
}

TEST_CASE("throttles table: the jobs of each key of a queue may be limited") {
  const auto rules = rules_in("[throttles]\nq = { per_key = 2, timeout = 60 }");
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].limits == ThrottleLimits{.timeout_s = 60, .per_key = 2});
  CHECK(limits_problem("{ per_key = 2 }") == kTimeoutIsMissing);
  CHECK(limits_problem("{ per_key = 0, timeout = 60 }") ==
        "a:2: throttles.q: per_key must be a whole number from 1 to 1000000");
}

TEST_CASE("throttles table: a type, or each type that matches, may be limited") {
  const auto rules = rules_in(
      "[throttles]\n\"type:Mail\" = { concurrency = 3, timeout = 60 }\n"
      "\"type:Sync*\" = { rate = { count = 1, per = 2 } }\n"
      "\"type:a b:c\" = { concurrency = 1, timeout = 1 }\n");
  const std::vector<ThrottleRule> expected{
      {.pattern = "type:Mail", .limits = {.concurrency = 3, .timeout_s = 60}},
      {.pattern = "type:Sync*", .limits = {.rate_count = 1, .rate_s = 2}},
      {.pattern = "type:a b:c", .limits = {.concurrency = 1, .timeout_s = 1}}};
  CHECK(rules == expected);
}

TEST_CASE("throttles table: a type has no limit of each worker or key") {
  CHECK(problem_in({"[throttles]\n\"type:Mail\" = { worker = 3, timeout = 60 }\n"}) ==
        "a:2: throttles.type:Mail: worker limits queues, not types");
  CHECK(problem_in({"[throttles]\n\n\"type:Mail\" = { per_key = 3, timeout = 60 }\n"}) ==
        "a:3: throttles.type:Mail: per_key limits queues, not types");
  CHECK(problem_in({"[throttles]\n\"type:\" = { concurrency = 3, timeout = 60 }\n"}) ==
        "a:2: throttles: type: needs a jobtype, as in \"type:Mail\"");
}

}  // namespace millrace::server
