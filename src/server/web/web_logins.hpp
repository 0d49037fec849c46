#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "faktory/session/login_guard.hpp"
#include "server/web/web_stream.hpp"

namespace millrace::server {

/// Delays requests from addresses that sent wrong passwords to the web port, by the same rules as
/// for Faktory clients: see `faktory::LoginGuard`. Thread-safe.
class WebLogins {
 public:
  using Steady = WebStream::Steady;

  /// One waiting request; `leave` must be called with it.
  struct Turn {
    faktory::LoginGuard::Turn turn;
    Steady::time_point at;
  };

  /// True when requests from this address must wait before their password is checked.
  [[nodiscard]] bool is_slow(const std::string& peer);

  /// nullopt: too many wait already, and the connection should be closed. Only if `is_slow`.
  [[nodiscard]] std::optional<Turn> wait(const std::string& peer);
  void leave(const Turn& turn);

  void note_failure(const std::string& peer);

 private:
  std::mutex mutex_;  ///< protects all the following
  faktory::LoginGuard guard_;
};

}  // namespace millrace::server
