#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "journal/shared/log_service.hpp"

namespace millrace::engines {

struct Options {
  /// Use an engine that may lose what it acknowledged when machines lose power (NATS that syncs
  /// later, PostgreSQL without synchronous commits or without a synchronous standby).
  bool allows_unsynced = false;
  std::string password;          ///< where the URL has none; empty: none
  std::string credentials_file;  ///< of NATS (`nsc`); empty: none
  std::string ca_file;           ///< to check the engine's certificate with; empty: the system's
  std::string system_ca_file;    ///< that file of the system, for libpq, which does not look for it
  std::string certificate_file;  ///< to show to the engine; empty: none
  std::string key_file;          ///< set exactly when there is a certificate
};

/// Connects to the engine that `url` names, makes the log if it is not there yet, and checks that
/// it keeps what it acknowledges:
///
///     nats://[user:password@]host[:port][,host[:port]...]/stream      tls:// for TLS
///     postgresql://...                                                as libpq reads it
///
/// The certificate and name of a server elsewhere are checked, unless the URL says otherwise.
/// A password may also be in `options`, and libpq reads variables and files of its own. A problem
/// is one line without any of them.
[[nodiscard]] Outcome<std::unique_ptr<journal::LogService>> open_log_service(
    const std::string& url, const Options& options);

/// The same in a stream of NATS JetStream. `engines/nats_url.hpp` has the form of the URL.
/// Makes the stream where there is none; refuses one that may lose what it acknowledges.
[[nodiscard]] Outcome<std::unique_ptr<journal::LogService>> open_nats_log(const std::string& url,
                                                                          const Options& options);

/// The same in a table of PostgreSQL. The URL's parameter `millrace_log` names the table, which is
/// made when it is not there.
[[nodiscard]] Outcome<std::unique_ptr<journal::LogService>> open_postgres_log(
    const std::string& url, const Options& options);

}  // namespace millrace::engines
