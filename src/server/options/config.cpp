#include "server/options/config.hpp"

#include <array>
#include <cstdlib>
#include <string_view>

#include "server/options/config_tables.hpp"
#include "server/options/option_rows.hpp"

namespace millrace::server {
namespace {

/// The system would bind two ports to one address, and then refuse to open the second.
Outcome<Done> check_addresses(const Config& config) {
  const std::array ports = {std::pair{"--beanstalk", config.beanstalk},
                            std::pair{"--faktory", config.faktory}, std::pair{"--web", config.web}};
  for (std::size_t i = 0; i < ports.size(); ++i) {
    for (std::size_t j = i + 1; j < ports.size(); ++j) {
      if (!are_same_place(ports[i].second, ports[j].second)) continue;
      return Problem{std::string(ports[i].first) + " and " + ports[j].first + " are both " +
                     ports[i].second->text() + "; each port needs an address of its own"};
    }
  }
  return Done{};
}

/// An option that says something about a log that is not there: its name was forgotten.
Outcome<Done> check_without_log(const Config& config) {
  const Config plain;
  const std::pair<const char*, bool> set[] = {
      {"--node", !config.node.empty()},
      {"--lease", config.lease != plain.lease},
      {"--advertise", !config.advertise.empty()},
      {"--ca", !config.node_ca_file.empty()},
      {"--no-relay", config.keeps_ports_closed},
      {"--allow-unsynced-log", config.allows_unsynced_log},
      {"--log-password-file", !config.log_password_file.empty()},
      {"--log-credentials", !config.log_credentials_file.empty()},
      {"--log-ca", !config.log_ca_file.empty()},
      {"--log-cert", !config.log_certificate_file.empty()},
      {"--log-key", !config.log_key_file.empty()}};
  for (const auto& [name, is_set] : set) {
    if (is_set)
      return Problem{std::string(name) + " is for servers that share a log: set --log too"};
  }
  return Done{};
}

/// A log that several servers share.
Outcome<Done> check_log(const Config& config) {
  if (config.log.empty()) return check_without_log(config);
  if (config.node.empty()) return Problem{"--log needs --node, the name of this server"};
  if (config.is_volatile) return Problem{"--volatile and --log contradict each other"};
  if (config.has_asked_for_syncs || config.sync.mode != SyncChoice::Mode::kAlways) {
    return Problem{"--sync is about the data directory, and --log has a log elsewhere"};
  }
  return check_engine(config);
}

}  // namespace

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

Outcome<Done> check_engine(const Config& config) {
  if (config.log_certificate_file.empty() == config.log_key_file.empty()) return Done{};
  return Problem{"--log-cert and --log-key must be set together"};
}

Outcome<Done> check_together(const Config& config) {
  if (auto checked = check_log(config); !checked) return checked;
  if (config.tls_certificate_file.empty() != config.tls_key_file.empty()) {
    return Problem{"--tls-cert and --tls-key must be set together"};
  }
  if (!config.node_ca_file.empty() && config.tls_certificate_file.empty()) {
    return Problem{"--ca is about the TLS of other nodes: set --tls-cert and --tls-key too"};
  }
  if (config.is_volatile && config.has_asked_for_syncs) {
    return Problem{"--volatile and --sync always contradict each other: leave one out"};
  }
  if (config.is_finished_durable && config.finished.jobs_max == 0) {
    return Problem{"--keep-finished-durable needs finished jobs to keep: --keep-finished is 0"};
  }
  if (config.is_finished_durable && config.is_volatile) {
    return Problem{"--volatile and --keep-finished-durable contradict each other: leave one out"};
  }
  // Smaller segments are a choice for a disk that may become full, and there a job must fit into
  // the reserved segments. Jobs longer than a segment of the default size are allowed.
  if (config.job_bytes_max > config.segment_bytes &&
      config.segment_bytes < Config{}.segment_bytes) {
    return Problem{"--max-job-size is larger than --segment-bytes; set one of them differently"};
  }
  if (!config.beanstalk && !config.faktory) {
    return Problem{
        "--beanstalk and --faktory are both off, so there is nothing to serve; enable one"};
  }
  if (!config.users_file.empty() && config.log.empty() &&
      (has_password(config) || !config.web_password.empty())) {
    return Problem{"--users and a password contradict each other: each user has a secret"};
  }
  if (!config.users_file.empty() && !config.log.empty() && !has_password(config)) {
    return Problem{"--users with --log needs --password-file: nodes sign their reports with it"};
  }
  if (!config.alerts.empty() && !config.web) {
    return Problem{config.alerts.front().place +
                   ": alerts need what the web port measures, and --web is off"};
  }
  return check_addresses(config);
}

}  // namespace millrace::server
