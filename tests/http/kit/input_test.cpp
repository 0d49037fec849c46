#include "http/kit/input.hpp"

#include "support/doctest.hpp"

namespace millrace::http {
namespace {

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("input: a place in a walk is read as it was shown") {
  const ScanPlace place{.created = 7, .major = -3, .minor = 9};
  CHECK(show_place(place) == "7.-3.9");
  const auto read = parse_place("7.-3.9");
  REQUIRE(read);
  CHECK(show_place(*read) == "7.-3.9");
  CHECK_FALSE(parse_place(""));
  CHECK_FALSE(parse_place("7.3"));
  CHECK_FALSE(parse_place("7.3.x"));
}

TEST_CASE("input: every state is read as it was shown") {
  CHECK(parse_state(name_of(JobState::kScheduled)) == JobState::kScheduled);
  CHECK(parse_state(name_of(JobState::kReady)) == JobState::kReady);
  CHECK(parse_state(name_of(JobState::kReserved)) == JobState::kReserved);
  CHECK(parse_state(name_of(JobState::kRetrying)) == JobState::kRetrying);
  CHECK(parse_state(name_of(JobState::kDead)) == JobState::kDead);
  CHECK_FALSE(parse_state("buried"));
}

TEST_CASE("input: a limit at both of its ends and one past them") {
  Request request;
  const auto limit = [&](const std::string& text) {
    request.params = {{"limit", text}};
    return read_limit(request);
  };
  CHECK(*read_limit(request) == kPageDefault);
  CHECK(*limit("1") == 1);
  CHECK(*limit("200") == kPageMax);
  CHECK_FALSE(limit("0"));
  CHECK_FALSE(limit("201"));
}

TEST_CASE("input: a body is an object whose members differ") {
  CHECK(read_members("")->empty());
  CHECK((*read_members(R"({"a":1})"))["a"] == 1);
  CHECK(read_members(R"({"a":1,"a":2})").error().text == kDoubled);
  CHECK(read_members("[]").error().text == "the body is not a JSON object");
  CHECK((*read_members(R"({"a":{"b":1}})"))["a"].empty());  // No body has objects inside.
}

TEST_CASE("input: names of members, also next to numbers that no type can hold") {
  CHECK(member_names(R"({"Jid":"a","args":[{"x":1e999}],"n":1e999})") == Names{"jid", "args", "n"});
  CHECK(member_names(R"({"a\"b":1})") == Names{"a\"b"});
  CHECK(member_names("[]").empty());
}

}  // namespace millrace::http
