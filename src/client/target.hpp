#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace millrace::client {

/// Where a job port is, and how it is spoken to.
struct Target {
  std::string host = "127.0.0.1";  ///< an IPv6 address without brackets; a path if `is_unix`
  int port = 11300;
  bool is_unix = false;
  bool is_tls = false;
  std::string ca_file;  ///< certificates to trust; empty: those of the system

  /// For messages, and as it was given: `127.0.0.1:11300`, `[::1]:11300`, `unix:/run/jobs.sock`.
  [[nodiscard]] std::string text() const;
};

/// Reads `HOST[:PORT]`, `[IPV6][:PORT]` or `unix:PATH`. `beanstalk://` may come before it, and
/// `tls://` for a port that speaks TLS.
[[nodiscard]] Outcome<Target> parse_target(std::string_view text);

/// Whether the system finds an address of this host. It may ask the network.
[[nodiscard]] bool is_known_host(const std::string& host);

}  // namespace millrace::client
