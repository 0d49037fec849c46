#pragma once

#include <string>

#include "base/result.hpp"
#include "server/options/config.hpp"
#include "server/options/config_file.hpp"

namespace millrace::server {

/// Whether the setting is in one of the tables that are no options: `[[cron]]`, `[throttles]`.
[[nodiscard]] bool is_in_table(const Setting& setting);

/// Reads these tables of the config file, and of all files in the folder; empty: the folder
/// `conf.d` beside the file, if it is there. `file` may be empty.
[[nodiscard]] Outcome<Done> apply_tables(const std::string& file, std::string folder,
                                         Config& config);

}  // namespace millrace::server
