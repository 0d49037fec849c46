#pragma once

#include <libpq-fe.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "engines/contract.hpp"

namespace millrace::engines {

/// The server that `with_postgres.py` has started, for tests.
namespace postgres_server {

[[nodiscard]] bool is_there();
/// With a table that no other test has, and more parameters: `name=value&...`.
[[nodiscard]] std::string url(const std::string& more = "");

/// `start`, `stop`, or `kill`: as in a crash.
void tell(const std::string& order);

/// Executes SQL, and answers the first value of its result.
std::string execute(const std::string& sql);

/// A setting of the whole server, for as long as this lives.
class Setting {
 public:
  Setting(std::string name, const std::string& value);
  ~Setting();
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  std::string name_;
};

/// Somebody that stored a row in a transaction, and then sends nothing more.
class StoppedWriter {
 public:
  StoppedWriter(const std::string& table, journal::Sequence sequence);

 private:
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

/// Takes connections at the port of the server, which must not run, and says next to nothing.
class SilentServer {
 public:
  SilentServer();
  ~SilentServer();
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;

  /// How many have connected.
  std::size_t take();
  /// Tells those that have connected and asked for TLS that there is none. How many.
  std::size_t refuse_tls();
  /// Whether all of these have said more since, or have gone.
  [[nodiscard]] bool has_heard_all();

 private:
  int listener_ = -1;
  std::vector<int> taken_;
  std::vector<int> refused_;
};

/// Handles on a new log, of a server that may lose commits: it has no standby.
[[nodiscard]] OpenLog new_log();

}  // namespace postgres_server
}  // namespace millrace::engines
