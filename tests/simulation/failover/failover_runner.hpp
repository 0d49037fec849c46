#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "simulation/failover/failover.hpp"

namespace millrace::simulation {

/// One world of the failover simulation, from its beginning to its end or to what must not be.
struct FailoverEnd {
  FailoverTotals totals;
  std::optional<std::string> violation;
};

[[nodiscard]] FailoverEnd run_failover(const Failover::Options& options);

/// The last things that happened in a world, one a line.
[[nodiscard]] std::string last_failover_events(Failover::Options options, std::size_t count);

}  // namespace millrace::simulation
