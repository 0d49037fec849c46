#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "faktory/session/login_guard.hpp"
#include "server/web/web_stream.hpp"

namespace millrace::server {

/// Slows down who tries passwords at the web door, by the rules of the Faktory door: see
/// `faktory::LoginGuard`. For any thread.
class WebLogins {
 public:
  using Steady = WebStream::Steady;

  /// One connection's wait; to be given back by `leave`.
  struct Turn {
    faktory::LoginGuard::Turn turn;
    Steady::time_point at;
  };

  /// Whether a request from there has to wait before it is looked at.
  [[nodiscard]] bool is_slow(const std::string& peer);

  /// nullopt: so many wait already that this one should be sent away. For a slow peer only.
  [[nodiscard]] std::optional<Turn> wait(const std::string& peer);
  void leave(const Turn& turn);

  void note_failure(const std::string& peer);

 private:
  std::mutex mutex_;  ///< of all the following
  faktory::LoginGuard guard_;
};

}  // namespace millrace::server
