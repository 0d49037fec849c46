/// Runs simulated worlds: one by its seed, or as many as there is time for.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <random>
#include <string>

#include "simulation/crash_message.hpp"
#include "simulation/failover/failover_runner.hpp"
#include "simulation/runner.hpp"

namespace millrace::simulation {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::seconds kProgressInterval{10};

struct Order {
  std::uint64_t first_seed = 0;
  std::uint64_t recoveries = UINT64_MAX;  ///< so many, or
  Steady::time_point until = Steady::time_point::max();
  bool is_crowded = false;
  bool is_siege = false;
  bool has_features = false;
  bool is_failover = false;
  std::size_t events_shown = 60;  ///< of a world that goes wrong
};

/// For the case that the process dies in it.
void name_world(std::uint64_t seed) {
  const std::string number = std::to_string(seed);
  set_crash_message("in the world of seed " + number + "; to see it again: ./dev simulate --seed " +
                    number);
}

/// True when the world ended as it must.
bool run_one(std::uint64_t seed, const Order& order, Totals& totals) {
  World::Options options{.seed = seed};
  if (order.is_crowded) options.sizes = Workload::kCrowded;
  if (order.is_siege) options.sizes = Workload::kSiege;
  if (order.has_features) options.sizes = Workload::kFeatures;
  name_world(seed);
  const WorldEnd end = run_world(options);
  totals += end.totals;
  if (!end.violation) return true;
  std::printf("%s\nseed %llu: %s\nto see it again: ./dev simulate --seed %llu%s\n",
              last_events(options, order.events_shown).c_str(),
              static_cast<unsigned long long>(seed), end.violation->c_str(),
              static_cast<unsigned long long>(seed),
              order.is_crowded     ? " --crowded"
              : order.is_siege     ? " --siege"
              : order.has_features ? " --features"
                                   : "");
  return false;
}

/// Tells people how far a long run is.
class Progress {
 public:
  /// `recoveries` are takeovers where that is what the worlds have.
  void tell(std::uint64_t seed, std::uint64_t worlds, std::uint64_t operations,
            std::uint64_t recoveries) {
    const Steady::time_point now = Steady::now();
    if (now < next_) return;
    next_ = now + kProgressInterval;
    std::fprintf(stderr, "seed %llu: %llu worlds, %llu operations, %llu recoveries so far\n",
                 static_cast<unsigned long long>(seed), static_cast<unsigned long long>(worlds),
                 static_cast<unsigned long long>(operations),
                 static_cast<unsigned long long>(recoveries));
  }

 private:
  Steady::time_point next_ = Steady::now() + kProgressInterval;
};

/// Of two servers over one log.
bool run_failovers(const Order& order, bool is_one) {
  FailoverTotals totals;
  Progress progress;
  std::uint64_t seed = order.first_seed;
  bool is_well = true;
  do {
    if (Steady::now() >= order.until) break;
    progress.tell(seed, totals.worlds, totals.operations, totals.takeovers);
    name_world(seed);
    const FailoverEnd end = run_failover({.seed = seed});
    totals += end.totals;
    is_well = !end.violation;
    if (!is_well) {
      std::printf("%s\nseed %llu: %s\nto see it again: ./dev simulate --failover --seed %llu\n",
                  last_failover_events({.seed = seed}, order.events_shown).c_str(),
                  static_cast<unsigned long long>(seed), end.violation->c_str(),
                  static_cast<unsigned long long>(seed));
    }
    ++seed;
  } while (is_well && !is_one && totals.takeovers < order.recoveries);
  std::printf("%s", to_text(totals).c_str());
  return is_well;
}

bool run_many(const Order& order, Totals& totals) {
  Progress progress;
  for (std::uint64_t seed = order.first_seed; totals.recoveries < order.recoveries; ++seed) {
    if (Steady::now() >= order.until) break;
    progress.tell(seed, totals.worlds, totals.operations, totals.recoveries);
    if (!run_one(seed, order, totals)) return false;
  }
  return true;
}

/// Short enough to be typed.
std::uint64_t draw_seed() {
  std::random_device device;
  return device();
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
  auto* const first = app.add_option("--first-seed", order.first_seed, "the first world (drawn)");
  app.add_flag("--crowded", order.is_crowded, "only worlds with hundreds of jobs");
  app.add_flag("--siege", order.is_siege, "only worlds with disks that are full for long");
  app.add_flag("--features", order.has_features,
               "only worlds with unique, expiring and tracked jobs, and batches");
  app.add_flag("--failover", order.is_failover,
               "two servers over one log; recoveries are takeovers");
  app.add_option("--events", order.events_shown, "of a world that goes wrong, show so many (60)");
  one->excludes(timed);
  CLI11_PARSE(app, argc, argv);
  if (*timed) {
    order.recoveries = UINT64_MAX;
    order.until = Steady::now() + std::chrono::minutes(minutes);
  }
  if (!*first) order.first_seed = draw_seed();
  name_world(*one ? seed : order.first_seed);
  print_crash_message();
  // At once, so that it is there whatever happens.
  if (!*one) {
    std::printf("first seed %llu\n", static_cast<unsigned long long>(order.first_seed));
    std::fflush(stdout);
  }
  if (order.is_failover) {
    if (*one) order.first_seed = seed;
    return run_failovers(order, one->count() > 0) ? 0 : 1;
  }
  Totals totals;
  const bool is_well = *one ? run_one(seed, order, totals) : run_many(order, totals);
  std::printf("%s", to_text(totals).c_str());
  return is_well ? 0 : 1;
}
