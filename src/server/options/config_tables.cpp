#include "server/options/config_tables.hpp"

#include <filesystem>
#include <utility>
#include <vector>

#include "server/cron/cron_config.hpp"
#include "server/options/throttle_options.hpp"

namespace millrace::server {

bool is_in_table(const Setting& setting) {
  return setting.path.front() == kThrottlesTable || setting.path.front() == kCronTable;
}

Outcome<Done> apply_tables(const std::string& file, std::string folder, Config& config) {
  std::vector<std::string> files;
  if (!file.empty()) files.push_back(file);
  if (!folder.empty() && !std::filesystem::is_directory(folder)) {
    return Problem{"--conf-dir: " + folder + " is no directory"};
  }
  if (folder.empty() && !file.empty()) {
    folder = std::filesystem::path(file).parent_path() / "conf.d";
  }
  if (!folder.empty()) {
    const auto more = toml_files(folder);
    if (!more) return more.error();
    files.insert(files.end(), more->begin(), more->end());
  }
  auto cron = read_cron(files);
  if (!cron) return cron.error();
  config.cron = std::move(*cron);
  auto throttles = read_throttles(files);
  if (!throttles) return throttles.error();
  config.throttles = std::move(*throttles);
  return Done{};
}

}  // namespace millrace::server
