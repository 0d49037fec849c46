#include "faktory/job/glob.hpp"

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

/// Reads the text in pieces of so many steps.
bool matches_glob(std::string_view pattern, std::string_view text,
                  std::size_t steps = std::numeric_limits<std::size_t>::max()) {
  Glob glob(pattern);
  while (!glob.is_decided() && !text.empty()) {
    Steps piece(steps);
    text.remove_prefix(glob.read(text, piece));
  }
  return glob.matches();
}

/// By the definition: a table of which beginnings of the pattern are like which of the text. Places
/// are an escaped byte, a class of plain bytes, or one byte.
bool matches_plainly(std::string_view pattern, std::string_view text) {
  std::vector<bool> fits(text.size() + 1, false);
  fits[0] = true;
  while (!pattern.empty()) {
    std::vector<bool> next(text.size() + 1, false);
    if (pattern.front() == '*') {
      const auto first = std::find(fits.begin(), fits.end(), true) - fits.begin();
      for (std::size_t i = 0; i < next.size(); ++i) next[i] = std::ptrdiff_t(i) >= first;
      pattern.remove_prefix(1);
    } else {
      const bool is_class = pattern.front() == '[';
      const std::size_t end = is_class ? pattern.find(']') : pattern.front() == '\\' ? 1 : 0;
      const std::string_view place = pattern.substr(0, end + 1);
      const bool is_negated = is_class && place[1] == '^';
      for (std::size_t i = 0; i < text.size(); ++i) {
        const bool is_in = place == "?" || place.find(text[i], is_class ? 1 : end) < place.size();
        next[i + 1] = fits[i] && is_in != is_negated;
      }
      pattern.remove_prefix(end + 1);
    }
    fits = next;
  }
  return fits.back();
}

/// Patterns and texts out of few bytes, so that much nearly fits.
class Hostile {
 public:
  explicit Hostile(std::uint64_t seed) : random_(seed) {}
  std::string pattern() {
    static constexpr std::string_view kPlaces[] = {"a", "a",    "a",    "b",   "?",  "*",
                                                   "*", "[ab]", "[^a]", "\\a", "\\*"};
    std::string pattern;
    for (std::size_t left = pick(12) * pick(20); left > 0; --left) pattern += kPlaces[pick(11)];
    return pattern;
  }
  std::string text() {
    std::string text;
    for (std::size_t left = pick(400); left > 0; --left) text += "aaaaab*"[pick(7)];
    return text;
  }

 private:
  std::size_t pick(std::size_t count) { return random_() % count; }
  std::mt19937_64 random_;
};

}  // namespace

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

TEST_CASE("glob: no text and no pattern takes more steps than it says") {
  const std::string text(100'000, 'a');
  const std::string stars = [] {
    std::string pattern;
    for (int i = 0; i < 500; ++i) pattern += "*a";
    return pattern;
  }();
  for (const std::string& pattern :
       {"*" + std::string(1000, 'a') + "b*", stars + "b", "*" + std::string(1000, '?') + "b",
        std::string("*b*"), "*" + std::string(64, 'a') + "b*"}) {
    Glob glob(pattern);
    Steps steps(text.size() * glob.steps_per_byte());
    CHECK(glob.read(text, steps) == text.size());
    CHECK_FALSE(glob.matches());
    CHECK(glob.steps_per_byte() <= 1 + (pattern.size() + 63) / 64);
  }
}

TEST_CASE("glob: reads no further than its steps go") {
  Glob glob("*aab*");
  Steps steps(10 * glob.steps_per_byte());
  CHECK(glob.read(std::string(1000, 'a'), steps) == 10);
  CHECK(steps.are_used_up());
  CHECK_FALSE(glob.is_decided());
}

TEST_CASE("glob: passes over what cannot begin a match at 16 bytes a step") {
  Glob glob("*b*");
  Steps steps(10);
  CHECK(glob.read(std::string(1000, 'a'), steps) == 160);
}

TEST_CASE("glob: knows the end of its reading early") {
  Glob glob("*b*");
  Steps steps(100);
  CHECK(glob.read("abaaaa", steps) == 2);
  CHECK(glob.is_decided());
  glob.restart();
  CHECK_FALSE(glob.is_decided());
  CHECK_FALSE(glob.matches());
}

TEST_CASE("glob: places beyond a word's 64") {
  const std::string text(130, 'a');
  CHECK(matches_glob(text, text));
  CHECK(matches_glob("*" + text + "b*", "aaa" + text + "bc"));
  CHECK_FALSE(matches_glob("*" + text + "b*", text.substr(1) + "bc"));
}

TEST_CASE("glob: agrees with the definition, read whole or in pieces") {
  const std::uint64_t seed = std::random_device()();
  INFO("seed ", seed);
  Hostile hostile(seed);
  for (int i = 0; i < 3000; ++i) {
    const std::string pattern = hostile.pattern();
    const std::string text = hostile.text();
    INFO(pattern, " and ", text);
    const bool expected = matches_plainly(pattern, text);
    REQUIRE(matches_glob(pattern, text) == expected);
    REQUIRE(matches_glob(pattern, text, 7) == expected);
  }
}

TEST_CASE("glob: of a text") {
  CHECK(glob_of_text("Foo::Bar") == "Foo::Bar");
  CHECK(matches_glob(glob_of_text("a*?[b]\\"), "a*?[b]\\"));
  CHECK_FALSE(matches_glob(glob_of_text("a*"), "ab"));
}

}  // namespace millrace::faktory
