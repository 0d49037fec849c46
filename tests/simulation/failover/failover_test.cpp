/// The failover simulation is itself tested: it must find what is broken, and repeat what it found.

#include "simulation/broken/broken.hpp"
#include "simulation/failover/failover_runner.hpp"
#include "support/doctest.hpp"

namespace millrace::simulation {
namespace {

/// The number of the first world in which something that must not be was; 0: in none of so many.
std::uint64_t first_broken(Failover::Options options, std::uint64_t worlds = 100) {
  const std::uint64_t end = options.seed + worlds;
  for (; options.seed < end; ++options.seed) {
    CAPTURE(options.seed);
    const FailoverEnd run = run_failover(options);
    if (!run.violation) continue;
    MESSAGE("seed ", options.seed, ": ", *run.violation);
    return options.seed;
  }
  return 0;
}

std::uint64_t first_broken_by(Mistake mistake) {
  Failover::Options options;
  options.mistake = mistake;
  return first_broken(options);
}

/// The program `simulate` runs many more, from the same one on.
TEST_CASE("failover: two or three servers hold in ten worlds") {
  CHECK(first_broken({}, 10) == 0);
}

TEST_CASE("failover: everything that can happen does") {
  FailoverTotals totals;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) totals += run_failover({.seed = seed}).totals;
  CHECK(totals.takeovers > 0);
  CHECK(totals.spreads > 0);
  CHECK(totals.batches_lost > 0);
  CHECK(totals.strays > 0);
  CHECK(totals.deposed > 0);
  CHECK(totals.resumed > 0);
  CHECK(totals.unheard_commands > 0);
  CHECK(totals.handovers > 0);
  CHECK(totals.kills > 0);
  CHECK(totals.power_cuts > 0);
  CHECK(totals.wiped_caches > 0);
  CHECK(totals.trimmed_away > 0);
  CHECK(totals.pauses > 0);
  CHECK(totals.cuts > 0);
  CHECK(totals.requests_lost > 0);
  CHECK(totals.answers_lost > 0);
  CHECK(totals.late_requests > 0);
  CHECK(totals.entries_in_parts > 0);
  CHECK(totals.segments_removed > 0);
  CHECK(totals.messages_trimmed > 0);
}

TEST_CASE("failover: a leader that answers after its lease is found") {
  CHECK(first_broken_by(Mistake::kNoLease) != 0);
}

TEST_CASE("failover: a standby that claims before the lease is over is found") {
  CHECK(first_broken_by(Mistake::kEarlyClaim) != 0);
}

TEST_CASE("failover: a log service that stores what a deposed leader appends is found") {
  CHECK(first_broken_by(Mistake::kNoFence) != 0);
}

TEST_CASE("failover: a cache with what the service has not stored is found") {
  CHECK(first_broken_by(Mistake::kEarlyCache) != 0);
}

TEST_CASE("failover: a new leader whose clock runs back is found") {
  CHECK(first_broken_by(Mistake::kClockRunsBack) != 0);
}

TEST_CASE("failover: a new leader whose clock jumps to the end of a delay is found") {
  CHECK(first_broken_by(Mistake::kClockJumps) != 0);
}

TEST_CASE("failover: a standby that leads before it has applied everything is found") {
  CHECK(first_broken_by(Mistake::kUnreadClaim) != 0);
}

TEST_CASE("failover: an append in doubt that is taken for stored is found") {
  CHECK(first_broken_by(Mistake::kGuessedAppend) != 0);
}

TEST_CASE("failover: a reply that leaves before the service has stored its batch is found") {
  Failover::Options options;
  options.wrap_journal = broken::reply_before_sync();
  CHECK(first_broken(options) != 0);
}

}  // namespace
}  // namespace millrace::simulation
