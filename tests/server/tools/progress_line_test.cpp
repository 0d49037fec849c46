#include "server/tools/progress_line.hpp"

#include "support/doctest.hpp"

namespace millrace::server {

TEST_CASE("progress line: how far, and how long at this pace") {
  using namespace std::chrono_literals;
  CHECK(progress_text("exported", 0, 1'000'000, 0s) == "exported 0 of 1,000,000 jobs, 0 %");
  CHECK(progress_text("exported", 250'000, 1'000'000, 10s) ==
        "exported 250,000 of 1,000,000 jobs, 25 %, about 30 s left");
  CHECK(progress_text("exported", 1, 1, 1s) == "exported 1 of 1 job, 100 %");
  CHECK(progress_text("imported", 12'345, 0, 1s) == "imported 12,345 jobs");
}

}  // namespace millrace::server
