#include "server/export/pushed_text.hpp"

#include "support/doctest.hpp"

namespace millrace::server {

TEST_CASE("pushed_text: a job that FETCH has shown becomes one that PUSH takes") {
  const char* const shown =
      R"({"retry":25,"custom":{"at":1,"n":12345678901234567890},"jid":"12345678","queue":"q",)"
      R"("jobtype":"T","created_at":"2026-01-01T00:00:00Z","enqueued_at":"2026-01-02T00:00:00Z",)"
      R"("at":"2027-01-01T00:00:00Z","args":[1.0,"a\u00e9\"",1e300]})";
  const std::string rest =
      R"("retry":25,"custom":{"at":1,"n":12345678901234567890},"jid":"12345678","queue":"q",)"
      R"("jobtype":"T","created_at":"2026-01-01T00:00:00Z","args":[1.0,"a\u00e9\"",1e300]})";
  CHECK(pushed_text(shown, std::nullopt) == "{" + rest);
  CHECK(pushed_text(shown, Time{1500ms}) == R"({"at":"1970-01-01T00:00:01.5Z",)" + rest);
}

TEST_CASE("pushed_text: names of members keep their meaning") {
  CHECK(pushed_text(R"({"a\"\u0041":1})", std::nullopt) == R"({"a\"A":1})");
  CHECK(pushed_text("{}", std::nullopt) == "{}");
}

TEST_CASE("pushed_text: what is no object is refused") {
  for (const char* text : {"", "1", "[]", "{", R"({"a":})", R"({"a":tru})", R"({"a":1,})"}) {
    CAPTURE(text);
    CHECK_FALSE(pushed_text(text, std::nullopt));
  }
}

}  // namespace millrace::server
