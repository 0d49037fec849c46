#include "tools/directory/progress_line.hpp"

#include "support/doctest.hpp"

namespace millrace::tools {

TEST_CASE("progress line: how far, and how long at this pace") {
  using namespace std::chrono_literals;
  CHECK(progress_text("exported", 0, 1'000'000, 0s) == "exported 0 of 1,000,000 jobs, 0 %");
  CHECK(progress_text("exported", 250'000, 1'000'000, 10s) ==
        "exported 250,000 of 1,000,000 jobs, 25 %, about 30 s left");
  CHECK(progress_text("exported", 1, 1, 1s) == "exported 1 of 1 job, 100 %");
  CHECK(progress_text("imported", 12'345, 0, 1s) == "imported 12,345 jobs");
}

TEST_CASE("progress line: bytes are shown as MiB, and never more than all") {
  using namespace std::chrono_literals;
  constexpr auto kBytes = ProgressLine::Unit::kBytes;
  CHECK(progress_text("copied", 300'000'000, 0, 1s, kBytes) == "copied 286 MiB");
  CHECK(progress_text("read", 1u << 30, 1ull << 32, 10s, kBytes) ==
        "read 1,024 of 4,096 MiB, 25 %, about 30 s left");
  CHECK(progress_text("read", 3u << 20, 2u << 20, 1s, kBytes) == "read 2 of 2 MiB, 100 %");
}

}  // namespace millrace::tools
