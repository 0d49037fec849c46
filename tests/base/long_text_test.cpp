#include "base/long_text.hpp"

#include "support/doctest.hpp"

namespace millrace {

TEST_CASE("long text: is taken in parts, in order") {
  const auto owned = std::make_shared<const std::string>("0123456789");
  LongText inner;
  inner.add("b");
  inner.add(*owned, owned);
  inner.add("c");
  inner.add("d");
  LongText text;
  text.add("a");
  text.add(std::move(inner));
  text.add("");
  text.add("e");
  CHECK(text.size() == 15);
  CHECK(owned.use_count() == 2);
  std::string all;
  for (std::size_t bytes = 1; text.size() > 0; ++bytes) {
    const std::size_t before = text.size();
    text.take(bytes, all);
    CHECK(text.size() == before - std::min(before, bytes));
  }
  CHECK(all == "ab0123456789cde");
  CHECK(owned.use_count() == 1);
}

TEST_CASE("long text: what is dropped is not taken") {
  const auto owned = std::make_shared<const std::string>("0123456789");
  for (std::size_t dropped = 0; dropped <= 14; ++dropped) {
    LongText text;
    text.add("ab");
    text.add(*owned, owned);
    text.add("cd");
    text.drop(dropped);
    CHECK(text.size() == 14 - dropped);
    std::string rest;
    text.take(100, rest);
    CHECK(rest == std::string("ab0123456789cd").substr(dropped));
  }
}

}  // namespace millrace
