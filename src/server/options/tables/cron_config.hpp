#pragma once

#include <span>
#include <string_view>

#include "base/result.hpp"
#include "server/cron/cron_item.hpp"
#include "server/options/config_file.hpp"

namespace millrace::server {

/// The key under which config files have the entries.
inline constexpr std::string_view kCronTable = "cron";

/// The `[[cron]]` entries of the documents, in this order. All else in them is passed over. A
/// problem begins with `FILE:LINE: `: two entries of the same name or, without names, of the same
/// content are one.
[[nodiscard]] Outcome<CronTable> read_cron(std::span<const ConfigDocument> documents);

}  // namespace millrace::server
