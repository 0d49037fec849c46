/// Runs simulated worlds: one by its seed, or as many as there is time for.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>

#include "simulation/runner.hpp"

namespace millrace::simulation {
namespace {

using Steady = std::chrono::steady_clock;

struct Order {
  std::uint64_t first_seed = 1;
  std::uint64_t recoveries = UINT64_MAX;  ///< so many, or
  Steady::time_point until = Steady::time_point::max();
  std::size_t events_shown = 60;  ///< of a world that goes wrong
};

/// True when the world ended as it must.
bool run_one(std::uint64_t seed, const Order& order, Totals& totals) {
  const World::Options options{.seed = seed};
  const WorldEnd end = run_world(options);
  totals += end.totals;
  if (!end.violation) return true;
  std::printf("%s\nseed %llu: %s\nto see it again: ./dev simulate --seed %llu\n",
              last_events(options, order.events_shown).c_str(),
              static_cast<unsigned long long>(seed), end.violation->c_str(),
              static_cast<unsigned long long>(seed));
  return false;
}

bool run_many(const Order& order, Totals& totals) {
  for (std::uint64_t seed = order.first_seed; totals.recoveries < order.recoveries; ++seed) {
    if (Steady::now() >= order.until) break;
    if (!run_one(seed, order, totals)) return false;
  }
  return true;
}

}  // namespace
}  // namespace millrace::simulation

int main(int argc, char** argv) {
  using namespace millrace::simulation;
  CLI::App app("Runs the server in simulated worlds with crashes and disk faults.");
  std::uint64_t seed = 0;
  std::uint64_t minutes = 0;
  Order order{.recoveries = 20'000};
  auto* const one = app.add_option("--seed", seed, "run this world alone");
  auto* const timed = app.add_option("--minutes", minutes, "run new worlds for so long");
  app.add_option("--recoveries", order.recoveries, "run until there were so many (20000)");
  app.add_option("--first-seed", order.first_seed, "the first world (1)");
  app.add_option("--events", order.events_shown, "of a world that goes wrong, show so many (60)");
  one->excludes(timed);
  CLI11_PARSE(app, argc, argv);
  if (*timed) {
    order.recoveries = UINT64_MAX;
    order.until = Steady::now() + std::chrono::minutes(minutes);
  }
  Totals totals;
  const bool is_well = *one ? run_one(seed, order, totals) : run_many(order, totals);
  std::printf("%s", to_text(totals).c_str());
  return is_well ? 0 : 1;
}
