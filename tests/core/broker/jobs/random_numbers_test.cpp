#include "core/broker/jobs/random_numbers.hpp"

#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("random numbers: the published sequence of SplitMix64") {
  RandomNumbers random(1'234'567);
  CHECK(random.draw() == 6'457'827'717'110'365'317u);
  CHECK(random.draw() == 3'203'168'211'198'807'973u);
  CHECK(random.draw() == 9'817'491'932'198'370'423u);
}

}  // namespace millrace::test
