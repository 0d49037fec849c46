#include <random>
#include <string>

#include "base/search/json_text_search.hpp"
#include "support/doctest.hpp"

namespace millrace {
namespace {

bool finds(const std::string& part, std::string_view text, std::size_t piece) {
  TextSearch search(part);
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    if (search.read(text.substr(0, piece))) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("text search: finds what a plain search finds, however the text is cut") {
  std::mt19937 random(7);
  int found = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string part(1 + random() % 5, 'a');
    std::string text(random() % 30, 'a');
    for (char& c : part) c = static_cast<char>('a' + random() % 2);
    for (char& c : text) c = static_cast<char>('a' + random() % 2);
    const bool is_in = text.find(part) != std::string::npos;
    found += is_in ? 1 : 0;
    CAPTURE(part);
    CAPTURE(text);
    for (const std::size_t piece : {1, 3, 100}) CHECK(finds(part, text, piece) == is_in);
  }
  CHECK(found > 1'000);
}

TEST_CASE("text search: a new text begins anew") {
  TextSearch search("ab");
  CHECK_FALSE(search.read("a"));
  search.restart();
  CHECK_FALSE(search.read("b"));
  CHECK(search.read("ab"));
}

}  // namespace millrace
