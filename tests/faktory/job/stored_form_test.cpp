#include "faktory/job/stored_form.hpp"

#include <optional>
#include <string>

#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

std::string stored(std::string_view json) {
  JobReader reader;
  const Outcome<JobMembers> members = reader.read(json);
  REQUIRE(members);
  std::string body;
  encode_work_unit(*members, body);
  return body;
}

StoredForm taken_apart(std::string_view body) {
  const std::optional<StoredForm> form = decode_work_unit(body);
  REQUIRE(form);
  return *form;
}

}  // namespace

TEST_CASE("stored form: byte for byte") {
  CHECK(stored(R"({"jid":"12345678","jobtype":"T","args":[1, 2],"created_at":"c","retry":3})") ==
        "\x11\x0A\x1F"
        R"({"retry":3,"jid":"12345678","jobtype":"T","created_at":"c","args":[1,2]})");
}

TEST_CASE("stored form: white space between values is left out, wherever it is") {
  const std::string expected =
      stored(R"({"jid":"12345678","jobtype":"T","args":["abcdefg",1,{}]})");
  for (const char* const args :
       {"[ \"abcdefg\",1,{}]", "[\"abcdefg\",1,{} ]", "[\"abcdefg\",\t1,{}]",
        "[\"abcdefg\"\n,1,{}]", "[\"abcdefg\",1,{\r}]"}) {
    CAPTURE(args);
    CHECK(stored(R"({"jid":"12345678","jobtype":"T","args":)" + std::string(args) + "}") ==
          expected);
  }
}

TEST_CASE("stored form: white space within strings stays, and so do bytes that are no ASCII") {
  for (const char* const args : {R"(["a b c"])", R"([1,"seven77","  "])",
                                 "[\"\xC3\xA4\xE2\x82\xAC\"]", "[\"\x7f\xC2\x80\xC2\xA0\"]"}) {
    CAPTURE(args);
    CHECK(stored(R"({"jid":"12345678","jobtype":"T","args":)" + std::string(args) + "}")
              .ends_with(std::string(args) + "}"));
  }
}

TEST_CASE("stored form: what the server fills in is not stored") {
  const std::string body =
      "\x07\x0A\x0E"
      R"(,"jid":"12345678","jobtype":"T","args":[1]})";
  for (const char* const more :
       {"", R"(,"retry":25)", R"(,"created_at":"","retry":null)", R"(,"created_at":null)"}) {
    CAPTURE(more);
    CHECK(stored(R"({"jid":"12345678","jobtype":"T","args":[1])" + std::string(more) + "}") ==
          body);
  }
}

TEST_CASE("stored form: each of what the server fills in by itself") {
  CHECK(stored(R"({"jid":"12345678","jobtype":"T","args":[],"created_at":"c"})") ==
        "\x07\x0A\x1F"
        R"(,"jid":"12345678","jobtype":"T","created_at":"c","args":[]})");
  CHECK(stored(R"({"jid":"12345678","jobtype":"T","args":[],"retry":0,"custom":{"a":1}})") ==
        "\x22\x0A\x0E"
        R"({"retry":0,"custom":{"a":1},"jid":"12345678","jobtype":"T","args":[]})");
}

TEST_CASE("stored form: it is taken apart where something is put in") {
  const std::string body = stored(
      R"({"jid":"12345678","jobtype":"T","args":[],"created_at":"c","retry":-3,"custom":{"a":1}})");
  const StoredForm form = taken_apart(body);
  CHECK(form.until_retry == R"({"retry":-3)");
  CHECK(form.until_jid == R"(,"custom":{"a":1},"jid":"12345678")");
  CHECK(form.head == R"(,"jobtype":"T","created_at":"c")");
  CHECK(form.head.substr(form.created_at()) == R"(,"created_at":"c")");
  CHECK(form.rest == R"(,"args":[]})");
  CHECK(form.raw_jid == R"("12345678")");
  CHECK(form.retry == -3);
}

TEST_CASE("stored form: what was left out is there again, but for the job's time") {
  const std::string body = stored(R"({"jid":"12345678","jobtype":"T","args":[]})");
  const StoredForm form = taken_apart(body);
  CHECK(form.until_retry == R"({"retry":25)");
  CHECK(form.retry == 25);
  CHECK(form.created_at() == form.head.size());
}

TEST_CASE("stored form: lengths of several bytes") {
  const std::string custom = "{\"a\":\"" + std::string(100'000, 'x') + "\"}";
  const std::string body =
      stored(R"({"jid":"12345678","jobtype":"T","args":[],"custom":)" + custom + "}");
  CHECK(taken_apart(body).raw_jid == R"("12345678")");
  CHECK(taken_apart(body).until_jid == R"(,"custom":)" + custom + R"(,"jid":"12345678")");
}

TEST_CASE("stored form: lengths beyond the body, or of more than 35 bits, are no form") {
  const std::string text = R"(,"jid":"12345678","jobtype":"T","args":[]})";
  CHECK(decode_work_unit("\x07\x0A\x0E" + text));
  CHECK(decode_work_unit("\x07\x0A\x19" + text));
  CHECK_FALSE(decode_work_unit("\x07\x0A\x1A" + text));
  CHECK_FALSE(decode_work_unit("\x07\x01\x0E" + text));
  CHECK_FALSE(decode_work_unit("\x07\xFF\xFF\xFF\xFF\x7F\x0E" + text));
  CHECK_FALSE(decode_work_unit("\x87\x80\x80\x80\x80\x80\x0A\x0E" + text));
  CHECK_FALSE(decode_work_unit(""));
}

TEST_CASE("stored form: it begins with retry or the next member") {
  const auto body = [](const std::string& start) {
    return static_cast<char>(start.size() + 7) + std::string("\x0A\x0E") + start +
           R"(,"jid":"12345678","jobtype":"T","args":[]})";
  };
  CHECK(taken_apart(body("{\"retry\":7")).retry == 7);
  CHECK_FALSE(decode_work_unit(body("{")));
  CHECK_FALSE(decode_work_unit(body("{\"retry\":")));
  CHECK_FALSE(decode_work_unit(body("{\"retry\":x")));
  CHECK_FALSE(decode_work_unit(body("{\"retry\":9223372036854775808")));
}

}  // namespace millrace::faktory
