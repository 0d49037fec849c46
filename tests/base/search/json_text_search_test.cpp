#include "base/search/json_text_search.hpp"

#include <string>

#include "support/doctest.hpp"

namespace millrace {
namespace {

/// In every size of pieces.
bool finds(const std::string& part, std::string_view text) {
  JsonTextSearch search(part);
  std::size_t found = 0;
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    search.restart();
    for (std::size_t at = 0; at < text.size(); at += piece) {
      if (!search.read(text.substr(at, piece))) continue;
      ++found;
      break;
    }
  }
  CHECK((found == 0 || found == text.size()));
  return found > 0;
}

}  // namespace

TEST_CASE("json text search: finds what is written, and what its escapes mean") {
  CHECK(finds("李", R"(["李"])"));
  CHECK(finds("李", R"(["\u674e"])"));
  CHECK(finds("李", R"(["\u674E"])"));
  CHECK(finds("Müller, 😀", R"(["x M\u00fcller, \ud83d\ude00"])"));
  CHECK(finds("https://a", R"(["https:\/\/a"])"));
  CHECK(finds("say \"hi\"\n", R"(["say \"hi\"\n"])"));
  CHECK(finds(R"(\u674e)", R"(["\u674e"])"));
}

TEST_CASE("json text search: finds nothing that is not there") {
  CHECK_FALSE(finds("李", R"(["\u674f"])"));
  CHECK_FALSE(finds("李", R"(["\\u674e"])"));
  CHECK_FALSE(finds("李", R"(["\u674)"));
  CHECK_FALSE(finds("😀", R"(["\ud83dx\ude00"])"));
  CHECK_FALSE(finds("😀", R"(["\ud83d\n\ude00"])"));
  CHECK_FALSE(finds("ab", R"(["a\nb"])"));
}

TEST_CASE("json text search: an escape that is none is read as it is written") {
  CHECK(finds("\\uzz12", R"(a\uzz12b\n)"));
  CHECK(finds("b\n", R"(a\uzz12b\n)"));
}

TEST_CASE("json text search: a match may begin before the first escape") {
  CHECK(finds("abc李", R"(xxabc\u674e)"));
  CHECK(finds("abab李", R"(ababab\u674e)"));
}

TEST_CASE("json text search: a new text begins anew") {
  JsonTextSearch search("ab");
  CHECK_FALSE(search.read("\\na"));
  search.restart();
  CHECK_FALSE(search.read("b"));
  CHECK(search.read("\\u0061b"));
}

}  // namespace millrace
