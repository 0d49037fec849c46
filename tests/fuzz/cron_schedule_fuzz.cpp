// Cron: any text is read or refused, and the runs of what was read are later ones that match. The
// first line is the time zone, the next one the expression.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cron/schedule.hpp"

namespace {

using namespace millrace;

void expect(bool is_true) {
  if (!is_true) std::abort();
}

void check_runs(const cron::Schedule& schedule, Time after) {
  for (int i = 0; i < 3 && after != kNever; ++i) {
    const Time run = schedule.next_run(after);
    expect(run > after);
    if (run == kNever) return;
    // No other run lies between.
    expect(schedule.next_run(run - 1ns) == run);
    expect(schedule.next_run(after + (run - after) / 2) == run || run - after == 1ns);
    after = run;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t line = bytes.find('\n');
  const std::string_view zone = line == bytes.npos ? std::string_view{} : bytes.substr(0, line);
  if (line != bytes.npos) bytes.remove_prefix(line + 1);
  const auto schedule = cron::Schedule::parse(bytes, zone);
  if (!schedule) {
    expect(!schedule.error().text.empty());
    return 0;
  }
  // Before clocks are set forward and back in Berlin, and before a leap day.
  for (const std::int64_t second : {1'806'100'000, 1'824'800'000, 1'835'300'000}) {
    check_runs(*schedule, Time{std::chrono::seconds{second}} + std::chrono::seconds{size % 4096});
  }
  return 0;
}
