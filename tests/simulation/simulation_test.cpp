/// The simulation is itself tested: it must find what is broken, and repeat what it found. The long
/// runs are of the program `simulate`.

#include "simulation/broken/broken.hpp"
#include "simulation/runner.hpp"
#include "support/doctest.hpp"

namespace millrace::simulation {
namespace {

/// Of the worlds that must hold, sanitizers look at a fifth, or until one shows what it should:
/// they take ten times as long.
#ifdef __SANITIZE_ADDRESS__
constexpr std::uint64_t kPart = 5;
#else
constexpr std::uint64_t kPart = 1;
#endif

/// The number of the first world in which something that must not be was; 0: in none of so many.
std::uint64_t first_violation(World::Options options, std::uint64_t worlds = 100) {
  const std::uint64_t last = options.seed + worlds - 1;
  for (; options.seed <= last; ++options.seed) {
    CAPTURE(options.seed);  // is told of a crash too
    const WorldEnd end = run_world(options);
    if (!end.violation) continue;
    MESSAGE("seed ", options.seed, ": ", *end.violation);
    return options.seed;
  }
  return 0;
}

/// The program `simulate` runs many more, from the same one on.
TEST_CASE("simulation: the server holds in ten worlds") {
  CHECK(first_violation({}, 10 / kPart) == 0);
}

TEST_CASE("simulation: a seed gives the same world each time") {
  const WorldEnd first = run_world({.seed = 7});
  const WorldEnd again = run_world({.seed = 7});
  CHECK(first.fingerprint == again.fingerprint);
  CHECK(first.totals.operations == again.totals.operations);
  CHECK(first.totals.disk_changes == again.totals.disk_changes);
}

TEST_CASE("simulation: another seed gives another world") {
  CHECK(run_world({.seed = 7}).fingerprint != run_world({.seed = 8}).fingerprint);
}

TEST_CASE("simulation: a reply before the sync is found") {
  CHECK(first_violation({.wrap_journal = broken::reply_before_sync()}) != 0);
}

TEST_CASE("simulation: jobs are handed out whose reservation a crash takes, and are not lost") {
  std::uint64_t handed_out_again = 0;
  for (std::uint64_t seed = 1; seed <= 20 && (kPart == 1 || handed_out_again == 0); ++seed) {
    const WorldEnd end = run_world({.seed = seed, .fetches = Client::Fetches::kForJob});
    CHECK_FALSE(end.violation);
    handed_out_again += end.totals.handed_out_again;
  }
  CHECK(handed_out_again > 0);
}

TEST_CASE("simulation: a strict server loses no reservation that a client was told of") {
  for (std::uint64_t seed = 1; seed <= 10 / kPart; ++seed) {
    const WorldEnd end = run_world({.seed = seed, .fetches = Client::Fetches::kStrict});
    CHECK_FALSE(end.violation);
    CHECK(end.totals.handed_out_again == 0);
  }
}

TEST_CASE("simulation: a job that is handed out before it is safe is found") {
  CHECK(first_violation({.fetches = Client::Fetches::kForNothing}) != 0);
}

TEST_CASE("simulation: a job that is handed out before its release is safe is found") {
  // Where all is called durable, no change is remembered, and only the place of the body counts.
  const auto meddle = [](Ledger& ledger, Random&) { ledger.note_durable(kWholeLog); };
  // It shows in one world of some hundred: the first ones are left out.
  CHECK(first_violation({.seed = 70, .meddle = meddle, .fetches = Client::Fetches::kForJob}, 400) !=
        0);
}

TEST_CASE("simulation: a skipped sync is found") {
  CHECK(first_violation({.wrap_disk = broken::skipped_sync()}) != 0);
}

TEST_CASE("simulation: with an interval, a skipped sync is found") {
  CHECK(first_violation({.sync_modes = {journal::SyncMode::kInterval},
                         .wrap_disk = broken::skipped_sync()}) != 0);
}

TEST_CASE("simulation: with an interval, replies are told before the sync, and may be lost") {
  std::uint64_t lost = 0;
  for (std::uint64_t seed = 1; seed <= 20 && (kPart == 1 || lost == 0); ++seed) {
    const WorldEnd end = run_world({.seed = seed, .sync_modes = {journal::SyncMode::kInterval}});
    CHECK_FALSE(end.violation);
    lost += end.totals.unsynced_lost;
  }
  CHECK(lost > 0);
}

TEST_CASE("simulation: crowds of jobs come and go") {
  std::uint64_t crowds = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const WorldEnd end = run_world({.seed = seed, .sizes = Workload::kCrowded});
    CHECK_FALSE(end.violation);
    crowds += end.totals.crowds;
  }
  CHECK(crowds > 0);
}

TEST_CASE("simulation: a skipped sync of the directory is found") {
  CHECK(first_violation({.wrap_disk = broken::skipped_directory_sync()}) != 0);
}

TEST_CASE("simulation: a server that does not notice that its directory was moved is found") {
  CHECK(first_violation({.wrap_disk = broken::careless_lock()}) != 0);
}

TEST_CASE("simulation: a dropped record is found") {
  CHECK(first_violation({.wrap_journal = broken::dropped_record(50)}) != 0);
}

TEST_CASE("simulation: a batch left out of a replay is found") {
  CHECK(first_violation({.wrap_journal = broken::forgetful_replay()}) != 0);
}

TEST_CASE("simulation: a log that is trimmed too early is found") {
  CHECK(first_violation({.wrap_journal = broken::early_trim(50)}) != 0);
}

TEST_CASE("simulation: a body that is read back with a flipped bit is found") {
  CHECK(first_violation({.memory_bytes = {1}, .wrap_journal = broken::untrue_read(50)}) != 0);
}

TEST_CASE("simulation: a log that is never trimmed is found") {
  CHECK(first_violation({.wrap_journal = broken::no_trim()}) != 0);
}

TEST_CASE("simulation: a full disk that what is obsolete fills up is found") {
  CHECK(first_violation({.segment_bytes = {16384}, .wrap_journal = broken::no_trim_when_full()}) !=
        0);
}

#ifndef __clang__
TEST_CASE("simulation: a full disk on which all may write while it is cleaned is found") {
  // It shows in one world of some hundred, and a siege is long. Compilers evaluate arguments in
  // different orders, and so draw different worlds: this is one of g++'s.
  CHECK(first_violation({.seed = 400'127, .sizes = Workload::kSiege, .lets_all_write = true}) != 0);
}
#endif

TEST_CASE("simulation: a backup that shares what is still written to is found") {
  CHECK(first_violation({.wrap_backup = broken::shared_segments()}) != 0);
}

TEST_CASE("simulation: a step of the wall clock that goes unnoticed is found") {
  CHECK(first_violation({.steps = World::Options::Steps::kUnnoticed}) != 0);
}

TEST_CASE("simulation: a step of the wall clock that delays and reservations follow is found") {
  CHECK(first_violation({.steps = World::Options::Steps::kByDelaysToo}) != 0);
}

TEST_CASE("simulation: failed jobs are retried over some time, and no clock jumps by that") {
  std::uint64_t spreads = 0;
  for (std::uint64_t seed = 1; seed <= 10 / kPart; ++seed) {
    const WorldEnd end =
        run_world({.seed = seed, .spreads = World::Options::Spreads::kInOlderLogs});
    CHECK_FALSE(end.violation);
    spreads += end.totals.spreads;
  }
  CHECK(spreads > 0);
}

TEST_CASE("simulation: a retry at a later time that tells it as one that has passed is found") {
  CHECK(first_violation({.spreads = World::Options::Spreads::kWithFormerDelay}) != 0);
}

TEST_CASE(
    "simulation: a process that takes the end of a retry for a time that has passed is found") {
  CHECK(first_violation({.spreads = World::Options::Spreads::kBelieved}) != 0);
}

TEST_CASE("simulation: a change that is not in the log is found") {
  const auto meddle = [](Ledger& ledger, Random& random) {
    broken::apply_outside_of_the_log(ledger, random, 200);
  };
  CHECK(first_violation({.meddle = meddle}) != 0);
}

}  // namespace
}  // namespace millrace::simulation
