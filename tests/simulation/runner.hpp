#pragma once

#include <optional>
#include <string>

#include "simulation/world.hpp"

namespace millrace::simulation {

/// One world from its beginning to its end, or to what must not be.
struct WorldEnd {
  Totals totals;
  std::uint64_t fingerprint = 0;
  std::optional<std::string> violation;
};

[[nodiscard]] WorldEnd run_world(const World::Options& options);

/// The last things that happened in a world, one a line.
[[nodiscard]] std::string last_events(World::Options options, std::size_t count);

/// The totals for a person, several lines.
[[nodiscard]] std::string to_text(const Totals& totals);

}  // namespace millrace::simulation
