#include "faktory/features/lock_key.hpp"

#include <string>

#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

constexpr LockSecret kSecret{.low = 1, .high = 2};

LockKey key_of(const std::string& args) {
  return lock_key(kSecret, "Sync", args, "default");
}

TEST_CASE("lock key: it depends on the secret, the type, the arguments and the queue") {
  const LockKey key = key_of("[1]");
  CHECK(key == lock_key(kSecret, "Sync", "[1]", "default"));
  CHECK(key != LockKey{});
  CHECK(key != lock_key({.low = 1, .high = 3}, "Sync", "[1]", "default"));
  CHECK(key != lock_key({.low = 2, .high = 2}, "Sync", "[1]", "default"));
  CHECK(key != lock_key(kSecret, "Sync2", "[1]", "default"));
  CHECK(key != lock_key(kSecret, "Sync", "[2]", "default"));
  CHECK(key != lock_key(kSecret, "Sync", "[1]", "mail"));
  // Cut in another way, the texts would be the same.
  CHECK(lock_key(kSecret, "ab", "[]", "c") != lock_key(kSecret, "a", "[]", "bc"));
}

TEST_CASE("lock key: arguments that mean the same have one key") {
  const std::string many(60, '7');
  const std::string zeros(50, '0');
  const std::pair<std::string, std::string> kSame[] = {
      {"[1,\"a\"]", " [ 1 , \"a\" ] "},
      {"[1]", "[1.0]"},
      {"[100]", "[1e2]"},
      {"[100]", "[1000E-1]"},
      {"[0]", "[-0]"},
      {"[0]", "[0.0e5]"},
      {"[-120]", "[-1.2e+2]"},
      {"[1" + zeros + "]", "[1e50]"},
      {"[1" + zeros + "]", "[ 1" + zeros + "]"},
      {"[" + many + "]", "[" + many + ".0]"},
      {"[\"a\"]", R"(["\u0061"])"},
      {R"(["\n"])", R"(["\u000a"])"},
      {R"([{"a":1,"b":[2]}])", R"([{"b":[2.0], "a":1}])"},
      {R"([{"a":2}])", R"([{"a":1,"a":2}])"},
      {"[[],[1]]", "[ [ ] , [1]]"},
      {"[true,false,null]", "[true, false, null]"},
  };
  for (const auto& pair : kSame) {
    CAPTURE(pair.first);
    CAPTURE(pair.second);
    CHECK(key_of(pair.first) == key_of(pair.second));
  }
}

TEST_CASE("lock key: arguments that differ have two keys") {
  const std::pair<std::string, std::string> kDifferent[] = {
      {"[1]", "[\"1\"]"},         {"[1,2]", "[12]"},
      {"[[1],2]", "[[1,2]]"},     {"[9007199254740992]", "[9007199254740993]"},
      {"[1e40]", "[1e41]"},       {"[1]", "[-1]"},
      {"[\"a b\"]", "[\"ab\"]"},  {"[\",\"]", "[\"\",\"\"]"},
      {R"(["\""])", R"(["\\"])"}, {R"([{"a":1}])", R"([{"a":"1"}])"},
      {"[null]", "[]"},           {"[0.1]", "[0.10000000000000001]"},
  };
  for (const auto& pair : kDifferent) {
    CAPTURE(pair.first);
    CAPTURE(pair.second);
    CHECK(key_of(pair.first) != key_of(pair.second));
  }
}

}  // namespace
}  // namespace millrace::faktory
