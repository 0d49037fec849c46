#pragma once

#include "base/result.hpp"
#include "server/options/config.hpp"

namespace millrace::server {

/// Refuses options that contradict each other, wherever each came from. Each alone is valid.
[[nodiscard]] Outcome<Done> check_together(const Config& config);

}  // namespace millrace::server
