#include "shares.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>

namespace bench::test {

using Turns = std::vector<std::string>;

TEST_CASE("shares: one thing, several in turn, some more often than others") {
  CHECK(expand_shares("put") == Turns{"put"});
  CHECK(expand_shares("put,push") == Turns{"put", "push"});
  CHECK(expand_shares("put:2,put-cycle:1") == Turns{"put", "put-cycle", "put"});
  const Turns many = expand_shares("put:400,put-cycle:600");
  CHECK(many.size() == 1000);
  CHECK(std::count(many.begin(), many.begin() + 100, "put") == 40);
  CHECK(std::count(many.begin(), many.end(), "put") == 400);
}

TEST_CASE("shares: what is no share is refused") {
  for (const char* text : {"put:", "put:0", "put:1001", "put:x", "put:1x", "put:-1", "a,b:"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(expand_shares(text), std::invalid_argument);
  }
}

TEST_CASE("shares of sizes") {
  CHECK(expand_sizes("128:2,0") == std::vector<std::size_t>{128, 0, 128});
  CHECK_THROWS_WITH_AS(expand_sizes("128,1k"), "no number from 0 to 1073741824: '1k'",
                       std::invalid_argument);
}

}  // namespace bench::test
