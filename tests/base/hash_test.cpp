#include "base/hash.hpp"

#include "support/doctest.hpp"

namespace millrace {
namespace {

std::uint64_t hash_of(std::string_view text) {
  Fnv1a hash;
  hash.add(text);
  return hash.value();
}

}  // namespace

// The published test vectors: clients keep what is made of these numbers.
TEST_CASE("hash: FNV-1a as published") {
  CHECK(hash_of("") == 0xcbf29ce484222325u);
  CHECK(hash_of("a") == 0xaf63dc4c8601ec8cu);
  CHECK(hash_of("foobar") == 0x85944171f73967e8u);
}

TEST_CASE("hash: what is added in pieces counts as one text") {
  Fnv1a hash;
  hash.add("foo");
  hash.add(static_cast<unsigned char>('b'));
  hash.add("ar");
  CHECK(hash.value() == hash_of("foobar"));
}

}  // namespace millrace
