#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "server/options/config.hpp"
#include "server/options/config_file.hpp"
#include "server/options/option_traits.hpp"

namespace millrace::server {

/// A table of the config files that is no option.
struct TableRow {
  std::string_view key;
  Outcome<Done> (*read)(std::span<const ConfigDocument> documents, Config& config);
  Reload reload;
  Shown shown;
};

/// `[[cron]]`, `[throttles]`, `[[retry]]`, `[[alert]]`, `[statsd]`.
[[nodiscard]] std::span<const TableRow> table_rows();

/// Whether it is one of them.
[[nodiscard]] bool is_table(std::string_view key);

/// Whether it is a table of Faktory's commercial editions that means nothing here.
[[nodiscard]] bool is_foreign_table(std::string_view key);

/// The config file, and all files in the folder; empty: the folder `conf.d` beside the file, if it
/// is there. `file` may be empty, and is of this kind. Each is a document of its own.
[[nodiscard]] Outcome<std::vector<ConfigDocument>> read_documents(
    const std::string& file, std::string folder, ConfigFile kind = ConfigFile::kRegular);

/// Reads them. Where there is no `[statsd]`, DD_DOGSTATSD_URL counts.
[[nodiscard]] Outcome<Done> apply_tables(std::span<const ConfigDocument> documents, Config& config);

/// Notes the keys and tables of the document's top for which `is_known` is false.
void note_ignored(const ConfigDocument& document, bool (*is_known)(std::string_view key),
                  Config& config);

}  // namespace millrace::server
