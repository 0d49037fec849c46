#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "server/cron/cron_item.hpp"

namespace millrace::server {

/// The key under which config files have the entries.
inline constexpr std::string_view kCronTable = "cron";

/// The `[[cron]]` entries of the files, which are read one by one, in this order. All else in the
/// files is passed over. A problem begins with `FILE:LINE: ` where it is one of an entry: two
/// entries of the same name or, without names, of the same content are one.
[[nodiscard]] Outcome<std::vector<CronItem>> read_cron(const std::vector<std::string>& files);

/// The same for one file that has this text.
[[nodiscard]] Outcome<std::vector<CronItem>> read_cron_text(const std::string& file,
                                                            std::string_view text);

}  // namespace millrace::server
