#include "cli/show/width.hpp"

#include "support/doctest.hpp"

namespace millrace::cli {

TEST_CASE("width: wide characters take two columns, accents of their own none") {
  CHECK(display_width("") == 0);
  CHECK(display_width("abc") == 3);
  CHECK(display_width("grüße") == 5);
  CHECK(display_width("李明") == 4);
  CHECK(display_width("e\u0301") == 1);
}

TEST_CASE("cut: a text that fits stays, and a longer one ends with a mark") {
  CHECK(cut_to_width("abcd", 4) == "abcd");
  CHECK(cut_to_width("abcde", 4) == "abc…");
  CHECK(cut_to_width("abcde", 1) == "…");
  CHECK(cut_to_width("abcde", 0).empty());
}

TEST_CASE("cut: a wide character is not halved") {
  CHECK(cut_to_width("李明李", 4) == "李…");
  CHECK(display_width(cut_to_width("李明李", 4)) == 3);
}

TEST_CASE("width: a text that is cut in the middle keeps its ends") {
  CHECK(cut_middle_to_width("abcdefghij", 10) == "abcdefghij");
  CHECK(cut_middle_to_width("abcdefghij", 6) == "abc…ij");
  CHECK(cut_middle_to_width("abcdefghij", 2) == "a…");
  CHECK(cut_middle_to_width("abcdefghij", 1) == "…");
  CHECK(cut_middle_to_width("abcdefghij", 0).empty());
  // No half of a character is shown: they take two columns each.
  CHECK(cut_middle_to_width("李李李李李", 6) == "李…李");
  for (std::size_t columns = 0; columns < 12; ++columns) {
    CHECK(display_width(cut_middle_to_width("a李b李c李d", columns)) <= columns);
  }
}

TEST_CASE("width: texts are broken at blanks, and long words stay whole") {
  using Lines = std::vector<std::string>;
  CHECK(broken_to_width("one two three", 20) == Lines{"one two three"});
  CHECK(broken_to_width("one two three", 7) == Lines{"one two", "three"});
  CHECK(broken_to_width("one two three", 3) == Lines{"one", "two", "three"});
  CHECK(broken_to_width("a /very/long/path b", 4) == Lines{"a", "/very/long/path", "b"});
  CHECK(broken_to_width("", 4) == Lines{""});
}

}  // namespace millrace::cli
