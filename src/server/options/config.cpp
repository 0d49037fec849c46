#include "server/options/config.hpp"

#include <cstdlib>

#include "server/options/option_rows.hpp"

namespace millrace::server {

std::vector<std::string> options_for_restart(const Config& started, const Config& wanted) {
  std::vector<std::string> names;
  for (const OptionRow& row : kOptionRows) {
    if (!row.is_same(started, wanted)) names.emplace_back(row.name);
  }
  return names;
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
