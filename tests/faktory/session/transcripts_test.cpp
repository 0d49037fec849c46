#include "support/doctest.hpp"
#include "support/run_transcripts.hpp"

namespace millrace::test {

TEST_CASE("faktory transcripts") {
  run_transcripts("faktory", Protocol::kFaktory);
}

}  // namespace millrace::test
