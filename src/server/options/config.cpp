#include "server/options/config.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "server/options/config_tables.hpp"
#include "server/options/option_rows.hpp"

namespace millrace::server {

bool has_password(const Config& config) {
  return !config.password.empty() || !config.password_file.empty();
}

std::vector<std::string> reload(Config& running, const Config& wanted) {
  std::vector<std::string> waiting;
  for (const OptionRow& row : kOptionRows) {
    if (!row.reload(running, wanted)) waiting.emplace_back(row.name);
  }
  for (const TableRow& row : table_rows()) {
    if (!row.reload(running, wanted)) waiting.emplace_back(row.key);
  }
  return waiting;
}

std::vector<std::pair<std::string, std::string>> shown_options(const Config& config) {
  std::vector<std::pair<std::string_view, const Shown*>> rows;
  for (const OptionRow& row : kOptionRows) rows.emplace_back(row.name, &row.shown);
  for (const TableRow& row : table_rows()) rows.emplace_back(row.key, &row.shown);
  std::ranges::stable_sort(rows, {}, [](const auto& row) { return row.second->section; });
  std::vector<std::pair<std::string, std::string>> options;
  for (const auto& [name, shown] : rows) {
    if (shown->text == nullptr) continue;
    options.emplace_back(shown->name != nullptr ? shown->name : name, shown->text(config));
  }
  return options;
}

std::optional<std::string> environment_variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

Handover read_handover() {
  return {.pid = environment_variable("LISTEN_PID").value_or(""),
          .count = environment_variable("LISTEN_FDS").value_or(""),
          .names = environment_variable("LISTEN_FDNAMES").value_or(""),
          .notify_socket = environment_variable("NOTIFY_SOCKET").value_or(""),
          .watchdog_usec = environment_variable("WATCHDOG_USEC").value_or(""),
          .watchdog_pid = environment_variable("WATCHDOG_PID").value_or("")};
}

}  // namespace millrace::server
