#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace millrace::engines {

/// Where a log in NATS is, and what its operator said about it.
struct NatsUrl {
  std::vector<std::string> servers;  ///< `nats://host:port` each, without user and password
  std::string user;
  std::string password;
  std::string token;   ///< of a URL with a user and no password
  std::string stream;  ///< letters, digits, `-` and `_`
  bool uses_tls = false;
  int replicas = 0;                 ///< 0: three in a cluster, one on a server alone
  bool is_declared_synced = false;  ///< the operator says that all servers sync every write
};

/// Reads
///
///     nats://[user:password@|token@]host[:port][,host[:port]...]/stream[?replicas=N][&synced=yes]
///
/// `tls://` is the same with TLS. `%` and two hex digits are any byte of a user or password. The
/// problem names neither.
[[nodiscard]] Outcome<NatsUrl> parse_nats_url(std::string_view url);

}  // namespace millrace::engines
