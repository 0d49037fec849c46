#include "base/box.hpp"

#include <string>

#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("box: is empty until it is given a value, and after a reset") {
  Box<std::string> box;
  CHECK_FALSE(box);
  CHECK(box.get() == nullptr);
  box = std::string("a");
  CHECK(*box == "a");
  box.reset();
  CHECK_FALSE(box);
}

TEST_CASE("box: a copy has a value of its own") {
  Box<std::string> box = std::string("a");
  Box<std::string> copy = box;
  *copy += "b";
  CHECK(*box == "a");
  copy = Box<std::string>();
  CHECK_FALSE(copy);
  CHECK(*box == "a");
}

TEST_CASE("box: a new value replaces the former one") {
  Box<std::string> box = std::string("a");
  box.emplace() += "b";
  CHECK(*box == "b");
}

TEST_CASE("box: is equal to one with an equal value, and to an empty one when empty") {
  const Box<std::string> a = std::string("a");
  CHECK((a == Box<std::string>(std::string("a"))));
  CHECK_FALSE((a == Box<std::string>(std::string("b"))));
  CHECK_FALSE((a == Box<std::string>()));
  CHECK((Box<std::string>() == Box<std::string>()));
}

}  // namespace millrace::test
