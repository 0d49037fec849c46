#include "faktory/glob.hpp"

#include <string>

#include "support/doctest.hpp"

namespace millrace::faktory {

TEST_CASE("glob: text is like itself only") {
  CHECK(matches_glob("", ""));
  CHECK(matches_glob("abc", "abc"));
  CHECK_FALSE(matches_glob("abc", "abcd"));
  CHECK_FALSE(matches_glob("abc", "ab"));
  CHECK_FALSE(matches_glob("", "a"));
}

TEST_CASE("glob: a star is any bytes, also none") {
  CHECK(matches_glob("*", ""));
  CHECK(matches_glob("**", "x"));
  CHECK(matches_glob("a*c", "ac"));
  CHECK(matches_glob("a*c", "abbcbc"));
  CHECK(matches_glob("*uid*", "{\"uid\":1}"));
  CHECK_FALSE(matches_glob("*uid", "uid "));
  CHECK(matches_glob("*a*b*c*", "xaxxbxbcx"));
  CHECK_FALSE(matches_glob("*a*b*c*", "xcxbxa"));
}

TEST_CASE("glob: a question mark is one byte") {
  CHECK(matches_glob("a?c", "abc"));
  CHECK_FALSE(matches_glob("a?c", "ac"));
  CHECK_FALSE(matches_glob("?", ""));
}

TEST_CASE("glob: a class is one byte of it") {
  CHECK(matches_glob("[F]oo", "Foo"));
  CHECK_FALSE(matches_glob("[F]oo", "[F]oo"));
  CHECK(matches_glob("[a-c]", "b"));
  CHECK(matches_glob("[c-a]", "b"));
  CHECK_FALSE(matches_glob("[a-c]", "d"));
  CHECK(matches_glob("[^a-c]", "d"));
  CHECK_FALSE(matches_glob("[^a-c]", "a"));
  CHECK(matches_glob("[\\]]", "]"));
  CHECK(matches_glob("[a-]", "-"));
  CHECK_FALSE(matches_glob("[]", "a"));
  CHECK(matches_glob("*[0-9]", "job7"));
}

TEST_CASE("glob: a class without an end reaches to the end") {
  CHECK(matches_glob("[ab", "b"));
  CHECK_FALSE(matches_glob("[", "["));
}

TEST_CASE("glob: a backslash makes the next byte plain") {
  CHECK(matches_glob("\\*", "*"));
  CHECK_FALSE(matches_glob("\\*", "x"));
  CHECK(matches_glob("*\\[1\\]*", "a[1]b"));
  CHECK(matches_glob("a\\", "a\\"));
}

TEST_CASE("glob: many stars take no more than text times pattern") {
  std::string pattern;
  for (int i = 0; i < 500; ++i) pattern += "*a";
  CHECK_FALSE(matches_glob(pattern + "b", std::string(100'000, 'a')));
}

TEST_CASE("glob: plain text") {
  CHECK(is_plain_text("Foo::Bar"));
  CHECK_FALSE(is_plain_text("Foo*"));
  CHECK_FALSE(is_plain_text("a\\b"));
}

}  // namespace millrace::faktory
