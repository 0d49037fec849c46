#include "base/result.hpp"

#include "support/doctest.hpp"

namespace millrace {

TEST_CASE("result: a value, or the reason why there is none") {
  const Result<int, Problem> value = 7;
  const Result<int, Problem> refused = Problem{.text = "missing"};
  CHECK(value.has_value());
  CHECK(*value == 7);
  CHECK_FALSE(refused);
  CHECK(refused.error().text == "missing");
}

TEST_CASE("result: a value can be changed in place, and a problem is told in words") {
  Result<std::string, Problem> text = std::string("fine");
  *text += '!';
  CHECK(*text == "fine!");
  CHECK(text->size() == 5);
  CHECK(Outcome<Done>(Problem{.text = "broken"}).error().text == "broken");
}

}  // namespace millrace
