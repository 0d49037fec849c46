#include "server/web/web_logins.hpp"

namespace millrace::server {
namespace {

/// The guard uses differences of times only, so the steady clock is good enough.
Time now() {
  return Time{WebLogins::Steady::now().time_since_epoch()};
}

}  // namespace

bool WebLogins::is_slow(const std::string& peer) {
  const std::lock_guard lock(mutex_);
  return guard_.is_slow(peer, now());
}

std::optional<WebLogins::Turn> WebLogins::wait(const std::string& peer) {
  const std::lock_guard lock(mutex_);
  auto turn = guard_.wait(peer, now());
  if (!turn) return std::nullopt;
  const Steady::time_point at{turn->at.time_since_epoch()};
  return Turn{.turn = std::move(*turn), .at = at};
}

void WebLogins::leave(const Turn& turn) {
  const std::lock_guard lock(mutex_);
  guard_.leave(turn.turn);
}

void WebLogins::note_failure(const std::string& peer) {
  const std::lock_guard lock(mutex_);
  guard_.note_failure(peer, now());
}

}  // namespace millrace::server
