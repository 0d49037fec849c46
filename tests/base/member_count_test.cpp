#include "base/member_count.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "support/doctest.hpp"

namespace millrace::test {
namespace {

struct None {};
struct Inner {
  int number = 0;
  std::string text;
};
struct Several {
  int number = 1;
  std::string text;
  std::vector<std::string> texts;
  Inner inner;
  std::unique_ptr<int> pointer;
  std::chrono::nanoseconds time{};
  bool is_last = false;
};
struct Derived : Several {
  int more = 0;
};

}  // namespace

TEST_CASE("member count: of members of any type, nested ones being one") {
  CHECK(kMemberCount<None> == 0);
  CHECK(kMemberCount<Inner> == 2);
  CHECK(kMemberCount<Several> == 7);
}

TEST_CASE("member count: a base class is one more") {
  CHECK(kMemberCount<Derived> == 2);
}

}  // namespace millrace::test
