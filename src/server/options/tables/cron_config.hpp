#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "server/cron/cron_item.hpp"
#include "server/options/config_file.hpp"
#include "server/options/toml/toml.hpp"

namespace millrace::server {

/// A TOML value that JSON does not have.
struct NoJson {
  std::string why;
  std::uint32_t line;  ///< of its file
};

/// Appends the TOML value as compact JSON. Whole numbers stay exact, with 64 bits. The members of a
/// table are sorted by name. JSON has no dates and times, and no `inf` and `nan`.
[[nodiscard]] Result<Done, NoJson> append_json(const toml::node& value, std::string& out);

/// The key under which config files have the entries.
inline constexpr std::string_view kCronTable = "cron";

/// The `[[cron]]` entries of the documents, in this order. All else in them is passed over. A
/// problem begins with `FILE:LINE: `: two entries of the same name or, without names, of the same
/// content are one.
[[nodiscard]] Outcome<CronTable> read_cron(std::span<const ConfigDocument> documents);

}  // namespace millrace::server
