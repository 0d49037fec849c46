#include "base/steps.hpp"

#include "support/doctest.hpp"

namespace millrace {

TEST_CASE("steps: they are used up by as many, and more of them give none back") {
  Steps steps(3);
  steps.use_up(2);
  CHECK(steps.left() == 1);
  CHECK_FALSE(steps.are_used_up());
  steps.use_up(5);
  CHECK(steps.left() == 0);
  CHECK(steps.are_used_up());
}

}  // namespace millrace
