/// The failover simulation is itself tested: it must find what is broken, and repeat what it found.

#include "simulation/broken.hpp"
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

/// The program `simulate` runs many more, from the same one on.
TEST_CASE("failover: two servers hold in ten worlds") {
  CHECK(first_broken({}, 10) == 0);
}

TEST_CASE("failover: everything that can happen does") {
  FailoverTotals totals;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) totals += run_failover({.seed = seed}).totals;
  CHECK(totals.takeovers > 0);
  CHECK(totals.batches_lost > 0);
  CHECK(totals.claims_behind > 0);
  CHECK(totals.answers_lost > 0);
  CHECK(totals.fallen_behind > 0);
  CHECK(totals.unheard_commands > 0);
  CHECK(totals.segments_removed > 0);
}

TEST_CASE("failover: a deposed leader that still answers is found") {
  CHECK(first_broken({.wrap_journal = broken::deaf_leader()}) != 0);
}

TEST_CASE("failover: a standby that takes over before it has applied everything is found") {
  CHECK(first_broken({.claims_unread = true}) != 0);
}

TEST_CASE("failover: an append that is accepted with an old epoch is found") {
  CHECK(first_broken({.stores_old_epochs = true}) != 0);
}

}  // namespace
}  // namespace millrace::simulation
