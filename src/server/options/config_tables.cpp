#include "server/options/config_tables.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/text.hpp"
#include "server/options/tables/alert_options.hpp"
#include "server/options/tables/cron_config.hpp"
#include "server/options/tables/statsd_options.hpp"
#include "server/options/throttle_options.hpp"

namespace millrace::server {
namespace {

/// Agents set it for all programs of a machine, so that a value that is not for us is no problem.
void apply_statsd_variable(Config& config) {
  constexpr const char* kVariable = "DD_DOGSTATSD_URL";
  const auto url = environment_variable(kVariable);
  if (!url || url->empty()) return;
  if (auto statsd = statsd_at(*url)) {
    config.statsd = std::move(*statsd);
  } else {
    config.ignored_keys.push_back({.key = kVariable, .place = "environment"});
  }
}

template <auto member, auto read>
Outcome<Done> reads(std::span<const ConfigDocument> documents, Config& config) {
  auto value = read(documents);
  if (!value) return value.error();
  config.*member = std::move(*value);
  return Done{};
}

Outcome<Done> read_shared_cron(std::span<const ConfigDocument> documents, Config& config) {
  auto cron = read_cron(documents);
  if (!cron) return cron.error();
  // Shared: see there.
  config.cron = std::make_shared<const CronTable>(std::move(*cron));
  return Done{};
}

Outcome<Done> read_statsd_or_variable(std::span<const ConfigDocument> documents, Config& config) {
  auto statsd = read_statsd(documents, config.ignored_keys);
  if (!statsd) return statsd.error();
  config.statsd = std::move(*statsd);
  if (!config.statsd) apply_statsd_variable(config);
  return Done{};
}

constexpr std::array kTableRows = {
    TableRow{kCronTable, read_shared_cron, takes_reload<&Config::cron>,
             not_shown("the Cron page has its entries")},
    TableRow{kThrottlesTable, reads<&Config::throttles, read_throttles>,
             takes_reload<&Config::throttles>, not_shown("the Throttles page has them")},
    TableRow{kRetryTable, reads<&Config::retries, read_retries>, takes_reload<&Config::retries>,
             not_shown("each failed job has its own")},
    TableRow{kAlertTable, reads<&Config::alerts, read_alerts>, takes_reload<&Config::alerts>,
             not_shown("the Alerts page has them")},
    TableRow{kStatsdTable, read_statsd_or_variable, takes_reload<&Config::statsd>,
             Shown(Section::kMetrics,
                   [](const Config& c) { return c.statsd ? c.statsd->location.text() : "none"; })},
};

}  // namespace

std::span<const TableRow> table_rows() {
  return kTableRows;
}

bool is_table(std::string_view key) {
  return std::ranges::any_of(kTableRows, [=](const TableRow& row) { return row.key == key; });
}

bool is_foreign_table(std::string_view key) {
  constexpr std::array<std::string_view, 3> kTables = {"license", "redis", "webui"};
  return std::find(kTables.begin(), kTables.end(), key) != kTables.end();
}

Outcome<std::vector<ConfigDocument>> read_documents(const std::string& file, std::string folder,
                                                    ConfigFile kind) {
  std::vector<std::string> files;
  if (!file.empty()) files.push_back(file);
  if (!folder.empty() && !std::filesystem::is_directory(folder)) {
    return Problem{"--conf-dir: " + folder + " is not a directory"};
  }
  if (folder.empty() && !file.empty()) {
    folder = std::filesystem::path(file).parent_path() / "conf.d";
  }
  if (!folder.empty()) {
    const auto more = toml_files(folder);
    if (!more) return more.error();
    files.insert(files.end(), more->begin(), more->end());
  }
  return read_each(files, file.empty() ? ConfigFile::kRegular : kind);
}

Outcome<Done> apply_tables(std::span<const ConfigDocument> documents, Config& config) {
  for (const TableRow& row : kTableRows) {
    if (auto read = row.read(documents, config); !read) return read;
  }
  return Done{};
}

void note_ignored(const ConfigDocument& document, bool (*is_known)(std::string_view key),
                  Config& config) {
  for (const auto& [key, value] : document.root()) {
    if (is_known(key.str())) continue;
    config.ignored_keys.push_back({.key = one_line(key.str(), kShownKeyBytesMax),
                                   .place = document.place(key.source().begin.line)});
  }
}

}  // namespace millrace::server
