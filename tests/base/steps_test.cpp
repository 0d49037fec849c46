#include "base/steps.hpp"

#include "support/doctest.hpp"

namespace millrace {

TEST_CASE("steps: they are spent when as many were taken, and more takes none back") {
  Steps steps(3);
  steps.spend(2);
  CHECK(steps.left() == 1);
  CHECK_FALSE(steps.are_spent());
  steps.spend(5);
  CHECK(steps.left() == 0);
  CHECK(steps.are_spent());
}

}  // namespace millrace
