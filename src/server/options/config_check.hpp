#pragma once

#include "base/result.hpp"
#include "server/options/config.hpp"

namespace millrace::server {

/// Refuses options that contradict each other, wherever each came from. Each alone is valid.
[[nodiscard]] Outcome<Done> check_together(const Config& config);

/// The same for those about the engine of a shared log.
[[nodiscard]] Outcome<Done> check_engine(const Config& config);

}  // namespace millrace::server
