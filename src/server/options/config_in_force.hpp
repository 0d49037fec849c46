#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/options/config.hpp"

namespace millrace::server {

[[nodiscard]] bool has_password(const Config& config);

/// What is in force after SIGHUP: of `wanted` what does not wait for a start, and the rest of
/// `running`.
[[nodiscard]] Config reloaded(Config running, const Config& wanted);

/// The options that are in force, for people: name and value, no secrets.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> shown_options(const Config& config);

}  // namespace millrace::server
