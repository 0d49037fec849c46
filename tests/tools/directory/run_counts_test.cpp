#include "tools/directory/run_counts.hpp"

#include "support/doctest.hpp"

namespace millrace::tools {
namespace {

constexpr std::int32_t kToday = 20'000;

RunCounts counted(std::int32_t day, std::uint64_t today) {
  return {.counters = {.processed = 100, .failed = 10, .day = day, .processed_today = today}};
}

}  // namespace

TEST_CASE("run counts: totals are added, and days are those of both") {
  RunCounts here = counted(kToday, 7);
  here.days = {{.day = kToday - 2, .processed = 4, .failed = 1}};
  const RunCounts sum = sum_of(here, 40, 5,
                               {{.day = kToday - 3, .processed = 1},
                                {.day = kToday - 2, .processed = 2},
                                {.day = kToday, .processed = 3, .failed = 2}},
                               kToday);
  CHECK(sum.counters.processed == 140);
  CHECK(sum.counters.failed == 15);
  CHECK(sum.counters.processed_today == 10);
  CHECK(sum.counters.failed_today == 2);
  CHECK(sum.days == std::vector<DayCounts>{{.day = kToday - 3, .processed = 1},
                                           {.day = kToday - 2, .processed = 6, .failed = 1}});
}

TEST_CASE("run counts: the last day of a server that was stopped becomes a past one") {
  const RunCounts sum =
      sum_of(counted(kToday - 5, 7), 1, 0, {{.day = kToday, .processed = 1}}, kToday);
  CHECK(sum.counters.day == kToday);
  CHECK(sum.counters.processed_today == 1);
  CHECK(sum.days == std::vector<DayCounts>{{.day = kToday - 5, .processed = 7}});
}

TEST_CASE("run counts: without days of the other server nothing becomes past") {
  const RunCounts here = counted(kToday - 5, 7);
  const RunCounts sum = sum_of(here, 1, 1, {}, kToday);
  CHECK(sum.counters.day == kToday - 5);
  CHECK(sum.counters.processed_today == 7);
  CHECK(sum.days.empty());
}

TEST_CASE("run counts: a day that has not begun here counts as today") {
  const RunCounts sum =
      sum_of(counted(kToday, 0), 1, 0, {{.day = kToday + 1, .processed = 1}}, kToday);
  CHECK(sum.counters.day == kToday);
  CHECK(sum.counters.processed_today == 1);
}

TEST_CASE("run counts: of many days the last ones are kept") {
  std::vector<DayCounts> days;
  for (std::int32_t day = 1; day <= 1000; ++day) days.push_back({.day = day, .processed = 1});
  const RunCounts sum = sum_of({}, 1000, 0, days, kToday);
  REQUIRE(sum.days.size() == kHistoryDaysMax);
  CHECK(sum.days.front().day == 1001 - static_cast<std::int32_t>(kHistoryDaysMax));
  CHECK(sum.days.back().day == 1000);
}

}  // namespace millrace::tools
