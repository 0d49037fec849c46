#include "faktory/json/text.hpp"

#include <string>

#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(text, out);
  return out;
}

}  // namespace

TEST_CASE("valid_utf8: good text stays") {
  CHECK(valid_utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80") ==
        "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
}

TEST_CASE("valid_utf8: each bad byte becomes one replacement character") {
  CHECK(valid_utf8("a\xFF\xFEz") == "a\xEF\xBF\xBD\xEF\xBF\xBDz");
  CHECK(valid_utf8("\xE2\x82") == "\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(valid_utf8("\xED\xA0\x80") == "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_CASE("repaired_json: nothing to do") {
  CHECK_FALSE(repaired_json(R"({"a":"\ud83d\ude00 \n \u00e9"})"));
}

TEST_CASE("repaired_json: halves of surrogate pairs") {
  CHECK(repaired_json(R"("\ud800")") == R"("\ufffd")");
  CHECK(repaired_json(R"("\uDC00x\uD83D\uDE00")") == R"("\ufffdx\uD83D\uDE00")");
  CHECK(repaired_json(R"("\ud800\ud83d\ude00")") == R"("\ufffd\ud83d\ude00")");
}

TEST_CASE("repaired_json: an escaped backslash begins no escape") {
  CHECK_FALSE(repaired_json(R"("\\ud800")"));
  CHECK(repaired_json(R"("\\\ud800")") == R"("\\\ufffd")");
}

TEST_CASE("repaired_json: an escape that is cut off") {
  CHECK_FALSE(repaired_json(R"("\ud80)"));
  CHECK_FALSE(repaired_json("\"\\"));
}

TEST_CASE("append_json_string: what must be escaped is") {
  CHECK(json_string("plain") == R"("plain")");
  CHECK(json_string("a\"b\\c\nd\x01") == R"("a\"b\\c\nd\u0001")");
  CHECK(json_string("\xFF") == "\"\xEF\xBF\xBD\"");
  CHECK(json_string("\xC3\xA9") == "\"\xC3\xA9\"");
}

TEST_CASE("one_line: no control characters") {
  CHECK(one_line(std::string_view("a\r\nb\0c\x7F", 7)) == "a??b?c?");
}

TEST_CASE("one_line: at the limit and one past it") {
  CHECK(one_line(std::string(kEchoBytesMax, 'x')).size() == kEchoBytesMax);
  CHECK(one_line(std::string(kEchoBytesMax + 1, 'x')).size() == kEchoBytesMax);
}

TEST_CASE("is_queue_name: letters, digits, dot, underscore and hyphen") {
  CHECK(is_queue_name("A-z0.9_"));
  CHECK(is_queue_name("-"));
  CHECK_FALSE(is_queue_name(""));
  CHECK_FALSE(is_queue_name("a b"));
  CHECK_FALSE(is_queue_name("default?page=1"));
  CHECK_FALSE(is_queue_name("c&c"));
  CHECK_FALSE(is_queue_name("\xC3\xA9"));
}

}  // namespace millrace::faktory
