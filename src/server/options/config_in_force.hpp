#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/options/config.hpp"

namespace millrace::server {

/// True when Faktory clients and browsers need a password.
[[nodiscard]] bool has_password(const Config& config);

/// The options in force after SIGHUP: `running`, with the values of `wanted` that need no restart.
[[nodiscard]] Config reloaded(Config running, const Config& wanted);

/// The options in force as name and value, for the Server page of the web UI. No secrets.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> shown_options(const Config& config);

}  // namespace millrace::server
