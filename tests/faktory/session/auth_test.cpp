#include "faktory/session/auth.hpp"

#include <cstdint>
#include <limits>
#include <string>

#include "faktory/session/talking.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {

TEST_CASE("password_hash: the known vector") {
  const Challenge challenge{.iterations = 1545, .salt = "55104dc76695721d"};
  CHECK(password_hash("foobar", challenge) ==
        "6d877f8e5544b1f2598768f817413ab8a357afffa924dedae99eb91472d4ec30");
}

TEST_CASE("password_hash: no iterations count as one") {
  CHECK(password_hash("a", {.iterations = 0, .salt = "bc"}) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(password_hash("a", {.iterations = 1, .salt = "bc"}) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("is_same_hash: equal texts only") {
  CHECK(is_same_hash("abc", "abc"));
  CHECK_FALSE(is_same_hash("abc", "abd"));
  CHECK_FALSE(is_same_hash("abc", "ab"));
  CHECK_FALSE(is_same_hash("abc", "ABC"));
  CHECK(is_same_hash("", ""));
}

TEST_CASE("make_challenge: the smallest random numbers") {
  const Challenge challenge = make_challenge([] { return std::uint64_t{0}; });
  CHECK(challenge.iterations == 4000);
  CHECK(challenge.salt == "0");
}

TEST_CASE("make_challenge: the largest random numbers") {
  const Challenge challenge =
      make_challenge([] { return std::numeric_limits<std::uint64_t>::max(); });
  CHECK(challenge.iterations == 8095);
  CHECK(challenge.salt == "7fffffffffffffff");
}

}  // namespace millrace::faktory
