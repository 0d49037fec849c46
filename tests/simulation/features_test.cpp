/// Worlds whose jobs are unique, expire, are tracked, and belong to batches; and the mistakes that
/// the simulation must find in them.

#include "simulation/broken/broken_features.hpp"
#include "simulation/runner.hpp"
#include "support/doctest.hpp"

namespace millrace::simulation {
namespace {

bool is_found(World::Options options) {
  constexpr std::uint64_t kWorlds = 100;
  options.sizes = Workload::kFeatures;
  for (options.seed = 1; options.seed <= kWorlds; ++options.seed) {
    CAPTURE(options.seed);
    const WorldEnd end = run_world(options);
    if (!end.violation) continue;
    MESSAGE("seed ", options.seed, ": ", *end.violation);
    return true;
  }
  return false;
}

TEST_CASE("simulation: the server holds in ten worlds with all features") {
  Totals totals;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const WorldEnd end = run_world({.seed = seed, .sizes = Workload::kFeatures});
    CHECK_FALSE(end.violation);
    totals += end.totals;
  }
  CHECK(totals.features.not_unique > 0);
  CHECK(totals.features.expired > 0);
  CHECK(totals.features.tracks > 0);
  CHECK(totals.features.callbacks > 0);
  CHECK(totals.features.batches_dropped > 0);
  CHECK(totals.features.pushes_repeated > 0);
  CHECK(totals.features.finished_recovered > 0);
  CHECK(totals.features.changes > 0);
  CHECK(totals.moves > 0);
}

/// A job must be limited for longer than a worker takes to be lost.
TEST_CASE("simulation: in some world a lost worker gives back a slot") {
  std::uint64_t reclaimed = 0;
  std::uint64_t lost = 0;
  for (std::uint64_t seed = 11; seed <= 100 && reclaimed == 0; ++seed) {
    const WorldEnd end = run_world({.seed = seed, .sizes = Workload::kFeatures});
    CHECK_FALSE(end.violation);
    reclaimed = end.totals.features.slots_reclaimed;
    lost += end.totals.features.jobs_lost;
  }
  CHECK(lost > 0);
  CHECK(reclaimed > 0);
}

TEST_CASE("simulation: an ACK that frees the lock of another job is found") {
  CHECK(is_found({.meddle = broken::foreign_lock_freed()}));
}

TEST_CASE("simulation: a lock that a dead job keeps is found") {
  CHECK(is_found({.meddle = broken::lock_kept_by_the_dead()}));
}

TEST_CASE("simulation: a dead job that comes back without its lock is found") {
  CHECK(is_found({.meddle = broken::lock_not_taken_anew()}));
}

TEST_CASE("simulation: a job that is handed out after its time is found") {
  CHECK(is_found({.meddle = broken::expiry_forgotten()}));
}

TEST_CASE("simulation: a callback that is pushed twice is found") {
  CHECK(is_found({.meddle = broken::callback_forgotten()}));
}

TEST_CASE("simulation: a slot that is given back while its job runs is found") {
  CHECK(is_found({.meddle = broken::slot_given_back()}));
}

TEST_CASE("simulation: a slot of a key that is not given back is found") {
  CHECK(is_found({.meddle = broken::slot_of_key_kept()}));
}

TEST_CASE("simulation: a slot of a type that is given back too early is found") {
  CHECK(is_found({.meddle = broken::slot_of_type_given_back()}));
}

TEST_CASE("simulation: a worker that never beats and is taken for one that does is found") {
  CHECK(is_found({.meddle = broken::holder_taken_for_beating()}));
}

TEST_CASE("simulation: a job that is given back and loses a retry by that is found") {
  CHECK(is_found({.meddle = broken::give_back_counted()}));
}

TEST_CASE("simulation: a job that comes back while its worker may return is found") {
  CHECK(is_found({.workers = {.timeout = 30s, .poison_after = 3}}));
}

TEST_CASE("simulation: a job that stays with a worker that is lost is found") {
  CHECK(is_found({.workers = {.timeout = std::nullopt, .poison_after = 3}}));
}

TEST_CASE("simulation: a job that dies with the first worker that it loses is found") {
  CHECK(is_found({.workers = {.timeout = 60s, .poison_after = 1}}));
}

TEST_CASE("simulation: counters of a batch that are not in the frame of its jobs are found") {
  CHECK(is_found({.wrap_journal = broken::counters_in_the_next_batch()}));
}

TEST_CASE("simulation: attempts that are forgotten when a job is written once more are found") {
  CHECK(is_found({.meddle = broken::attempts_forgotten()}));
}

TEST_CASE("simulation: a job in the group of a failure that is not its own any more is found") {
  CHECK(is_found({.meddle = broken::group_kept()}));
}

TEST_CASE("simulation: a move that is lost in a crash is found") {
  CHECK(is_found({.wrap_journal = broken::moves_lost()}));
}

TEST_CASE("simulation: a job that is moved to the end of its new queue is found") {
  CHECK(is_found({.meddle = broken::moved_job_comes_last()}));
}

TEST_CASE("simulation: a track that is lost in a crash is found") {
  CHECK(is_found({.wrap_journal = broken::tracks_lost()}));
}

TEST_CASE("simulation: what was said of an error and is lost in a crash is found") {
  CHECK(is_found({.wrap_journal = broken::marks_lost()}));
}

TEST_CASE("simulation: what was said of an error and is lost in compaction is found") {
  CHECK(is_found({.wrap_journal = broken::marks_lost_in_compaction()}));
}

TEST_CASE("simulation: a saved view that is lost in a crash is found") {
  CHECK(is_found({.wrap_journal = broken::views_lost()}));
}

TEST_CASE("simulation: a saved view that is lost in compaction is found") {
  CHECK(is_found({.wrap_journal = broken::views_lost_in_compaction()}));
}

TEST_CASE("simulation: a change of a person that is lost in a crash is found") {
  CHECK(is_found({.wrap_journal = broken::changes_lost()}));
}

TEST_CASE("simulation: the number of jobs of a change that is lost in a crash is found") {
  CHECK(is_found({.wrap_journal = broken::counts_of_changes_lost()}));
}

TEST_CASE("simulation: a change of a person that is lost in compaction is found") {
  CHECK(is_found({.wrap_journal = broken::changes_lost_in_compaction()}));
}

TEST_CASE("simulation: a token that is lost in a crash is found") {
  CHECK(is_found({.wrap_journal = broken::tokens_lost()}));
}

TEST_CASE("simulation: a revoked token that is back after a crash is found") {
  CHECK(is_found({.wrap_journal = broken::revoked_tokens_back()}));
}

TEST_CASE("simulation: a token that is lost in compaction is found") {
  CHECK(is_found({.wrap_journal = broken::tokens_lost_in_compaction()}));
}

TEST_CASE("simulation: a callback that is lost in a crash is found") {
  CHECK(is_found({.wrap_journal = broken::callbacks_lost()}));
}

TEST_CASE("simulation: a push that is sent again and adds a job is found") {
  CHECK(is_found({.repeats = World::Options::Repeats::kNone}));
}

TEST_CASE("simulation: a push whose job has ended and that is forgotten in a crash is found") {
  CHECK(is_found({.wrap_journal = broken::ended_pushes_lost()}));
}

TEST_CASE("simulation: a finished job that is forgotten in a crash is found") {
  CHECK(is_found({.wrap_journal = broken::finished_jobs_lost()}));
}

TEST_CASE("simulation: a finished job that is not in the frame of its end is found") {
  CHECK(is_found({.wrap_journal = broken::finished_jobs_in_the_next_batch()}));
}

TEST_CASE("simulation: a finished job that is forgotten in compaction is found") {
  CHECK(is_found({.wrap_journal = broken::finished_jobs_lost_in_compaction()}));
}

TEST_CASE("simulation: names that are forgotten in a restart are found") {
  CHECK(is_found({.repeats = World::Options::Repeats::kSinceItsStart}));
}

}  // namespace
}  // namespace millrace::simulation
