#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "http/routes/alerts.hpp"
#include "server/net/address.hpp"
#include "server/options/config_file.hpp"
#include "server/process/logging.hpp"

namespace millrace::server {

/// An `[[alert]]` of the config files.
struct AlertOptions {
  http::AlertRule rule;
  std::string place;  ///< `FILE:LINE`
  bool is_https = false;
  Address address;          ///< of the receiver
  std::string target;       ///< path and query, which may be secret
  std::string secret = {};  ///< that signs; empty: nothing is signed
  // Where secrets are; empty: there is none.
  std::string url_file = {};
  std::string secret_file = {};
  std::string routing_key_file = {};

  /// As the header `Host` has it.
  [[nodiscard]] std::string host() const;
};

inline constexpr std::string_view kAlertTable = "alert";

/// Reads the entries of these documents, in their order. Secret files are not read yet. A problem
/// begins with `FILE:LINE: `.
///
///     [[alert]]
///     name = "night"
///     url = "https://hooks.example.com/millrace"
///     secret-file = "/etc/millrace/alert-secret"
///     on = ["disk", {queue = "mail*", latency = "5m"}, {dead = 100, within = "10m"}, "takeover"]
[[nodiscard]] Outcome<std::vector<AlertOptions>> read_alerts(
    std::span<const ConfigDocument> documents);

/// The same with what is in their files.
[[nodiscard]] Outcome<std::vector<AlertOptions>> read_alert_secrets(
    std::vector<AlertOptions> alerts, const Log& log);

}  // namespace millrace::server
