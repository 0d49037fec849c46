#pragma once

#include <map>
#include <string>

#include "base/result.hpp"
#include "engines/open.hpp"

namespace millrace::engines::postgres {

/// Where a log is: a table, and how libpq reaches the servers that may have it.
struct Target {
  std::string table;                              ///< made of a-z, 0-9 and _
  std::map<std::string, std::string> parameters;  ///< libpq's keywords
  std::string exposure;                           ///< `exposure_of` the URL
  bool may_be_clear = false;  ///< the connection goes to another machine, and may lack TLS

  /// Puts the first of several hosts last. libpq itself goes on to the next one when a host
  /// refuses, but not when it takes the connection and says nothing.
  void rotate_hosts();
};

/// The first libpq (`PQlibVersion`) that can refuse to send a password in clear.
inline constexpr int kRequireAuthSince = 160000;

/// The parameter `millrace_log` of the URL names the table; it is `millrace_log` otherwise. What
/// the URL does not say, and a log needs, is added: among several hosts, the one that can write;
/// for hosts elsewhere, TLS with the certificate and its name checked.
[[nodiscard]] Outcome<Target> read_target(const std::string& url, const Options& options);

}  // namespace millrace::engines::postgres
