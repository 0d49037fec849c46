#include "tools/export/to_faktory.hpp"

#include "support/doctest.hpp"

namespace millrace::tools {
namespace {

std::string push_of(std::string_view shown, std::optional<Time> at = std::nullopt) {
  const auto pushed = pushed_text(shown, {.at = at, .reserve_for_max = 86400});
  REQUIRE(pushed);
  return pushed->json;
}

}  // namespace

TEST_CASE("pushed_text: a job that FETCH has shown becomes one that PUSH takes") {
  const char* const shown =
      R"({"retry":25,"custom":{"at":1,"n":12345678901234567890},"jid":"12345678","queue":"q",)"
      R"("jobtype":"T","created_at":"2026-01-01T00:00:00Z","enqueued_at":"2026-01-02T00:00:00Z",)"
      R"("at":"2027-01-01T00:00:00Z","args":[1.0,"a\u00e9\"",1e300]})";
  const std::string rest =
      R"("retry":25,"custom":{"at":1,"n":12345678901234567890},"jid":"12345678","queue":"q",)"
      R"("jobtype":"T","created_at":"2026-01-01T00:00:00Z","args":[1.0,"a\u00e9\"",1e300]})";
  CHECK(push_of(shown) == "{" + rest);
  CHECK(push_of(shown, Time{1500ms}) == R"({"at":"1970-01-01T00:00:01.5Z",)" + rest);
}

TEST_CASE("pushed_text: names of members keep their meaning") {
  CHECK(push_of(R"({"a\"\u0041":1})") == R"({"a\"A":1})");
  CHECK(push_of("{}") == "{}");
}

TEST_CASE("pushed_text: a time to work that is too long is cut") {
  const PushChanges changes{.at = std::nullopt, .reserve_for_max = 86400};
  const auto cut = pushed_text(R"({"reserve_for":86401,"custom":{"reserve_for":86401}})", changes);
  REQUIRE(cut);
  CHECK(cut->is_cut);
  CHECK(cut->json == R"({"reserve_for":86400,"custom":{"reserve_for":86401}})");
  const auto kept = pushed_text(R"({"reserve_for":86400})", changes);
  REQUIRE(kept);
  CHECK_FALSE(kept->is_cut);
  CHECK(kept->json == R"({"reserve_for":86400})");
}

TEST_CASE("pushed_text: what is no object is refused") {
  for (const char* text : {"", "1", "[]", "{", R"({"a":})", R"({"a":tru})", R"({"a":1,})"}) {
    CAPTURE(text);
    CHECK_FALSE(pushed_text(text, {}));
  }
}

}  // namespace millrace::tools
