#include "tools/import/import_target.hpp"

#include <string_view>

#include "support/doctest.hpp"

namespace millrace::tools {
namespace {

constexpr Time kDeath{100s};
constexpr LockKey kLock{.high = 1, .low = 2};

/// What a directory has: a dead job, one with a lock, and a queue that is paused for a while.
struct Directory {
  Directory() {
    add({.id = 1, .state = JobState::kDead});
    add({.id = 2, .has_lock = true});
    ledger.commit(Record(QueueChanged{.name = "here", .paused_until = Time{50s}, .pause_s = 9}));
  }

  struct Kind {
    JobId id;
    JobState state = JobState::kReady;
    bool has_lock = false;
  };
  void add(const Kind& kind) {
    StoredJob fields;
    fields.sequence = kind.id;
    fields.state = kind.state;
    if (kind.state == JobState::kDead) fields.when = kDeath;
    if (kind.has_lock) {
      fields.features = JobFeatures{.lock_key = kLock, .lock_ends = Time{200s}};
      fields.marks = job_marks::kHoldsLock;
    }
    ledger.commit(JobAdded{.id = kind.id, .queue = "here", .fields = std::move(fields)});
  }

  Ledger ledger;
};

constexpr std::int32_t kToday = 20'000;

RunCounts counted(std::int32_t day, std::uint64_t today) {
  return {.counters = {.processed = 100, .failed = 10, .day = day, .processed_today = today}};
}

}  // namespace

TEST_CASE("target state: no two jobs die at the same time") {
  const Directory directory;
  TargetState state(directory.ledger, 3);
  CHECK(state.take_death(kDeath) == kDeath + 1ns);
  CHECK(state.take_death(kDeath) == kDeath + 2ns);
  CHECK(state.take_death(kDeath - 1ns) == kDeath - 1ns);
}

TEST_CASE("target state: a lock is taken once") {
  const Directory directory;
  TargetState state(directory.ledger, 3);
  CHECK_FALSE(state.take_lock(kLock));
  CHECK(state.take_lock({.high = 1, .low = 3}));
  CHECK_FALSE(state.take_lock({.high = 1, .low = 3}));
}

TEST_CASE("target state: jobs of an import that was cut short do not count") {
  const Directory directory;
  TargetState state(directory.ledger, 1);
  CHECK(state.take_death(kDeath) == kDeath);
  CHECK(state.take_lock(kLock));
}

TEST_CASE("target state: a queue keeps its pause, or is paused without end") {
  const Directory directory;
  const TargetState state(directory.ledger, 3);
  const QueueChanged kept = state.kept_queue("here", false);
  CHECK(kept.is_kept);
  CHECK(kept.paused_until == Time{50s});
  CHECK(kept.pause_s == 9);
  CHECK(state.kept_queue("here", true).paused_until == kNever);
  CHECK(state.kept_queue("new", false).paused_until == Time{});
  CHECK(state.kept_queue("new", true).paused_until == kNever);
}

TEST_CASE("target state: a secret is drawn once") {
  TargetState state;
  CHECK_FALSE(state.lock_secret());
  const LockSecretDrawn drawn = state.draw_lock_secret();
  CHECK(state.lock_secret() == drawn.secret);
  CHECK_FALSE(drawn.secret == LockSecret{});
}

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
