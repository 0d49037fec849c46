#include "tools/import/target_state.hpp"

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

}  // namespace millrace::tools
