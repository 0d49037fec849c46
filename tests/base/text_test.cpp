#include "base/text.hpp"

#include "support/doctest.hpp"

namespace millrace {

TEST_CASE("text: only ASCII letters have a case") {
  CHECK(lower_case("Mail-\xC3\x84@[") == "mail-\xC3\x84@[");
  CHECK(upper_case("mail-\xC3\xA4`{") == "MAIL-\xC3\xA4`{");
}

TEST_CASE("equals_ignoring_case: ASCII letters only") {
  CHECK(equals_ignoring_case("JobType", "jobtype"));
  CHECK_FALSE(equals_ignoring_case("jobtypes", "jobtype"));
  CHECK_FALSE(equals_ignoring_case("jo@type", "jo`type"));
}

TEST_CASE("contains_ignoring_case: anywhere in the text, and the empty text in every text") {
  CHECK(contains_ignoring_case("a TimeOut", "timeout"));
  CHECK_FALSE(contains_ignoring_case("time", "timeout"));
  CHECK(contains_ignoring_case("", ""));
}

TEST_CASE("trimmed: at both ends") {
  CHECK(trimmed(" \t a b\r\n") == "a b");
  CHECK(trimmed("\v\fa") == "a");
  CHECK(trimmed(" \n").empty());
}

TEST_CASE("take_line: lines are taken off one by one, the last one also without its end") {
  std::string_view text = "one\n\nthree";
  CHECK(take_line(text) == "one");
  CHECK(take_line(text).empty());
  CHECK(take_line(text) == "three");
  CHECK(text.empty());
  CHECK(take_line(text).empty());
}

TEST_CASE("take_word: words are taken off one by one, with one blank each") {
  std::string_view text = "one  three";
  CHECK(take_word(text) == "one");
  CHECK(take_word(text).empty());
  CHECK(take_word(text) == "three");
  CHECK(text.empty());
}

TEST_CASE("one_line: white space is one blank, and what is too long ends in dots") {
  CHECK(one_line(" it\n\tsays:  no \n", 20) == "it says: no");
  CHECK(one_line("0123456789", 10) == "0123456789");
  CHECK(one_line("0123456789a", 10) == "0123456...");
  CHECK(one_line("", 10).empty());
}

TEST_CASE("text: kinds of characters, at their edges") {
  CHECK(is_digit('0'));
  CHECK(is_digit('9'));
  CHECK_FALSE(is_digit(':'));
  CHECK(is_letter('Z'));
  CHECK_FALSE(is_letter('['));
  CHECK(is_hex_digit('F'));
  CHECK_FALSE(is_hex_digit('g'));
}

TEST_CASE("cut: between characters") {
  CHECK(cut("caf\xc3\xa9", 5) == "caf\xc3\xa9");
  CHECK(cut("caf\xc3\xa9", 4) == "caf");
  CHECK(cut("caf\xc3\xa9", 3) == "caf");
  CHECK(cut("\xf0\x9f\x98\x80", 3).empty());
  // No UTF-8.
  CHECK(cut("\x80\x80\x80\x80\x80\x80", 5).size() == 5);
  CHECK(cut("abc", 0).empty());
}

TEST_CASE("without a broken escape: the end of a string that was cut") {
  CHECK(without_broken_escape(R"(ab\"\u00e9)") == R"(ab\"\u00e9)");
  CHECK(without_broken_escape(R"(ab\u00e)") == "ab");
  CHECK(without_broken_escape(R"(ab\u)") == "ab");
  CHECK(without_broken_escape("ab\\") == "ab");
  CHECK(without_broken_escape(R"(ab\\)") == R"(ab\\)");
  CHECK(without_broken_escape(R"(ab\\u00e)") == R"(ab\\u00e)");
  CHECK(without_broken_escape(R"(\uD83d\ude00)") == R"(\uD83d\ude00)");
  CHECK(without_broken_escape(R"(ab\ud83d)") == "ab");
  CHECK(without_broken_escape(R"(ab\ud83d\ude0)") == "ab");
  CHECK(without_broken_escape(R"(\ud7ff)") == R"(\ud7ff)");
}

TEST_CASE("is_utf8: overlong forms, surrogates and cut sequences are not") {
  CHECK(is_utf8("caf\xc3\xa9 \xf0\x9f\x90\x87"));
  CHECK(is_utf8(""));
  CHECK_FALSE(is_utf8("\xc0\x80"));
  CHECK_FALSE(is_utf8("\xed\xa0\x80"));
  CHECK_FALSE(is_utf8("caf\xc3"));
}

TEST_CASE("hex: 16 digits for a number, two for each byte") {
  CHECK(hex(0xBEEF) == "000000000000beef");
  CHECK(hex(~std::uint64_t{0}) == "ffffffffffffffff");
  CHECK(hex_of(std::string_view("\x01\xFF\x00", 3)) == "01ff00");
}

TEST_CASE("percent: an escape is the byte of its number") {
  CHECK(percent_decoded("a%41%0a%C3%a4+") == "aA\n\xC3\xA4+");
  CHECK(percent_decoded("") == "");
}

TEST_CASE("percent: a broken escape is refused") {
  for (const char* text : {"%", "a%4", "%4g", "%+4", "%%41"}) {
    CAPTURE(text);
    CHECK(percent_decoded(text) == std::nullopt);
  }
}

TEST_CASE("harmless: what a terminal obeys is shown, and all other text stays") {
  CHECK(harmless("a\x1b[31mb") == "a\\x1b[31mb");
  CHECK(harmless("one\ntwo\r\tthree") == "one\\ntwo\\r\\tthree");
  CHECK(harmless(std::string_view("\0\x7f", 2)) == "\\x00\\x7f");
  CHECK(harmless("\u009b31m") == "\\x9b31m");
  CHECK(harmless("grüße 李 🎉 e\u0301") == "grüße 李 🎉 e\u0301");
}

TEST_CASE("harmless: marks that turn or hide text are shown") {
  CHECK(harmless("a\u202eb") == "a\\u{202e}b");
  CHECK(harmless("\u200b\u2066\ufeff") == "\\u{200b}\\u{2066}\\u{feff}");
  CHECK(harmless("\U000e0041") == "\\u{e0041}");
}

TEST_CASE("harmless: each class of characters that nobody sees, or a terminal obeys") {
  CHECK(harmless("\u0080\u0085\u009f") == "\\x80\\x85\\x9f");
  CHECK(harmless("\u200e\u200f\u061c") == "\\u{200e}\\u{200f}\\u{61c}");
  CHECK(harmless("\u202a\u202b\u202c\u202d") == "\\u{202a}\\u{202b}\\u{202c}\\u{202d}");
  CHECK(harmless("\u2067\u2068\u2069") == "\\u{2067}\\u{2068}\\u{2069}");
  CHECK(harmless("\u2028\u2029") == "\\u{2028}\\u{2029}");
  CHECK(harmless("\u200d\u2060\u3164\u00ad") == "\\u{200d}\\u{2060}\\u{3164}\\xad");
  CHECK(harmless("\xed\xa0\x80\xc0\xaf") == "\\xed\\xa0\\x80\\xc0\\xaf");
}

TEST_CASE("harmless: bytes that are not UTF-8 are shown one by one") {
  CHECK(harmless("a\xff\xc3") == "a\\xff\\xc3");
  CHECK(harmless("\xe6\x9d") == "\\xe6\\x9d");
}

TEST_CASE("harmless: JSON keeps its meaning") {
  CHECK(harmless_json("{\"a\": \"李\\u001b\"}\n") == "{\"a\": \"李\\u001b\"}\n");
  CHECK(harmless_json("\"\u009b\u202e\x7f\"") == "\"\\u009b\\u202e\\u007f\"");
  CHECK(harmless_json("\"\U000e0041\"") == "\"\\udb40\\udc41\"");
}

}  // namespace millrace
