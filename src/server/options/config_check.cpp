#include "server/options/config_check.hpp"

#include <array>
#include <string>
#include <utility>

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

/// A log that several servers share.
Outcome<Done> check_log(const Config& config) {
  if (config.log.empty()) {
    if (config.node.empty()) return Done{};
    return Problem{"--node names a server among those that share a log: set --log too"};
  }
  if (config.node.empty()) return Problem{"--log needs --node, the name of this server"};
  if (config.is_volatile) return Problem{"--volatile and --log contradict each other"};
  if (config.has_asked_for_syncs || config.sync.mode != SyncChoice::Mode::kAlways) {
    return Problem{"--sync is about the data directory, and --log has a log elsewhere"};
  }
  return check_engine(config);
}

}  // namespace

Outcome<Done> check_engine(const Config& config) {
  if (config.log_certificate_file.empty() == config.log_key_file.empty()) return Done{};
  return Problem{"--log-cert and --log-key must be set together"};
}

Outcome<Done> check_together(const Config& config) {
  if (auto checked = check_log(config); !checked) return checked;
  if (config.tls_certificate_file.empty() != config.tls_key_file.empty()) {
    return Problem{"--tls-cert and --tls-key must be set together"};
  }
  if (config.is_volatile && config.has_asked_for_syncs) {
    return Problem{"--volatile and --sync always contradict each other: leave one out"};
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
  return check_addresses(config);
}

}  // namespace millrace::server
