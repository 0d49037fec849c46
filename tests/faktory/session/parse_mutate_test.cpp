#include "faktory/session/parse_mutate.hpp"

#include <string>

#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

using Reason = Refused::Reason;

Reason mutate_refused(const std::string& argument) {
  const auto parsed = parse_mutate(argument);
  REQUIRE_FALSE(parsed);
  return parsed.error().reason;
}

Mutate mutate(const std::string& argument) {
  const auto parsed = parse_mutate(argument);
  REQUIRE(parsed);
  return *parsed;
}

}  // namespace

TEST_CASE("mutate: commands and targets") {
  CHECK(mutate(R"({"cmd":"kill","target":"retries"})").action == Mutation::Action::kKill);
  CHECK(mutate(R"({"cmd":"requeue","target":"dead"})").action == Mutation::Action::kRequeue);
  CHECK(mutate(R"({"cmd":"discard","target":"scheduled"})").action == Mutation::Action::kDiscard);
  CHECK(mutate(R"({"cmd":"kill","target":"retries"})").set == JobState::kRetrying);
  CHECK(mutate(R"({"cmd":"kill","target":"dead"})").set == JobState::kDead);
  CHECK(mutate(R"({"cmd":"kill","target":"scheduled"})").set == JobState::kScheduled);
}

TEST_CASE("mutate: a move names a queue") {
  const Mutate move = mutate(R"({"cmd":"move","target":"dead","to":"later"})");
  CHECK(move.action == Mutation::Action::kMove);
  CHECK(move.to == "later");
  for (const char* const wrong :
       {R"({"cmd":"move","target":"dead"})", R"({"cmd":"move","target":"dead","to":"a/b"})"}) {
    const auto refused = parse_mutate(wrong);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().reason == Refused::Reason::kInvalidMoveQueue);
  }
  // Of other commands it is a member as any other.
  CHECK(mutate(R"({"cmd":"kill","target":"dead","to":"later"})").to.empty());
}

TEST_CASE("mutate: its JSON has no byte order mark") {
  CHECK(mutate_refused("\xEF\xBB\xBF{\"cmd\":\"discard\",\"target\":\"dead\"}") ==
        Reason::kInvalidMutateJson);
}

TEST_CASE("mutate: its JSON may have blanks") {
  const Mutate move = mutate(R"( { "cmd": "move", "target": "dead", "to": "later" } )");
  CHECK(move.action == Mutation::Action::kMove);
  CHECK(move.to == "later");
  CHECK(mutate_refused("") == Reason::kInvalidMutateFormat);
  CHECK(mutate_refused(" ") == Reason::kInvalidMutateJson);
}

TEST_CASE("mutate: clear discards all, whatever the filter") {
  const Mutate clear = mutate(R"({"cmd":"clear","target":"dead","filter":{"jobtype":"T"}})");
  CHECK(clear.action == Mutation::Action::kDiscard);
  CHECK(clear.filter.is_empty());
}

TEST_CASE("mutate: a filter, its names in any case") {
  const Mutate kill = mutate(
      R"({"CMD":"kill","Target":"dead","Filter":{"JIDS":["a",null],"RegExp":"r","jobType":"t"}})");
  CHECK((kill.filter.jids == std::vector<std::string>{"a", ""}));
  CHECK(kill.filter.regexp == "r");
  CHECK(kill.filter.jobtype == "t");
}

TEST_CASE("mutate: null is as good as absent") {
  CHECK(mutate(R"({"cmd":"kill","target":"dead","filter":null})").filter.is_empty());
  CHECK(mutate(R"({"cmd":"kill","target":"dead","filter":{"jids":null,"regexp":null}})")
            .filter.is_empty());
}

TEST_CASE("mutate: unknown members are passed over, however deep") {
  const std::string deep = std::string(10'000, '[') + std::string(10'000, ']');
  CHECK(mutate(R"({"x":)" + deep + R"(,"cmd":"kill","target":"dead"})").filter.is_empty());
}

TEST_CASE("mutate: wrong types") {
  CHECK(mutate_refused(R"({"cmd":1,"target":"dead"})") == Reason::kInvalidMutateJson);
  CHECK(mutate_refused(R"({"cmd":"kill","target":["dead"]})") == Reason::kInvalidMutateJson);
  CHECK(mutate_refused(R"({"cmd":"kill","target":"dead","filter":"x"})") ==
        Reason::kInvalidMutateJson);
  CHECK(mutate_refused(R"({"cmd":"kill","target":"dead","filter":{"jids":[1]}})") ==
        Reason::kInvalidMutateJson);
  CHECK(mutate_refused(R"({"cmd":"kill","target":"dead","filter":{"regexp":{}}})") ==
        Reason::kInvalidMutateJson);
  CHECK(mutate_refused("null") == Reason::kInvalidMutateJson);
  CHECK(mutate_refused("{") == Reason::kInvalidMutateJson);
}

TEST_CASE("mutate: a text, a filter or jids that are containers of another kind") {
  for (const char* filter : {R"([])", R"({"jids":{}})", R"({"jids":[[]]})", R"({"jids":[{}]})",
                             R"({"jobtype":[]})", R"({"jids":"a"})", R"({"regexp":true})"}) {
    const std::string text = R"({"cmd":"kill","target":"dead","filter":)";
    CHECK(mutate_refused(text + filter + "}") == Reason::kInvalidMutateJson);
  }
}

TEST_CASE("mutate: names mean something in their place only") {
  const Mutate kill = mutate(
      R"({"x":{"filter":{"jids":["a"]},"cmd":"clear"},"jids":["b"],"cmd":"kill","target":"dead",)"
      R"("filter":{"y":[{"jids":["c"]}],"cmd":1,"jobtype":"T"},"regexp":"d"})");
  CHECK(kill.filter.jids.empty());
  CHECK(kill.filter.regexp.empty());
  CHECK(kill.filter.jobtype == "T");
}

TEST_CASE("mutate: ten thousand jids and no more") {
  const auto with_jids = [](std::size_t count) {
    std::string jids = R"("a")";
    for (std::size_t i = 1; i < count; ++i) jids += R"(,"a")";
    return R"({"cmd":"kill","target":"dead","filter":{"jids":[)" + jids + "]}}";
  };
  CHECK(mutate(with_jids(kMutateJidsMax)).filter.jids.size() == kMutateJidsMax);
  CHECK(mutate_refused(with_jids(kMutateJidsMax + 1)) == Reason::kTooManyJids);
}

TEST_CASE("mutate: bytes that are not UTF-8 are replaced") {
  CHECK(mutate("{\"cmd\":\"kill\",\"target\":\"dead\",\"filter\":{\"jobtype\":\"\xff\"}}")
            .filter.jobtype == "\xEF\xBF\xBD");
}

}  // namespace millrace::faktory
