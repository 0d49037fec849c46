#include "faktory/session/login_guard.hpp"

#include <absl/container/flat_hash_map.h>

#include <chrono>
#include <cmath>

#include "base/check.hpp"

namespace millrace::faktory {
namespace {

/// The name under which peers are counted for which there is no room.
constexpr std::string_view kOthers = "others";

/// The wait grows with the square root of the number of logins that wait: slowly enough to stay
/// bearable with many of them, and fast enough that more connections do not try passwords in
/// proportion.
Duration wait_among(std::uint32_t waiting) {
  const std::chrono::duration<double, Duration::period> wait =
      kTurnPause * std::sqrt(static_cast<double>(waiting));
  CHECK(wait <= kTurnWaitMax);
  return std::chrono::duration_cast<Duration>(wait);
}

}  // namespace

std::string_view LoginGuard::name_of(std::string_view peer) const {
  // A guesser with many addresses must not fill the memory. The rest share one name, and its
  // failures.
  return peers_.size() < kPeersMax || peers_.contains(peer) ? peer : kOthers;
}

bool LoginGuard::is_slow(std::string_view peer, Time now) const {
  const auto found = peers_.find(name_of(peer));
  return found != peers_.end() && found->second.failures > kFreeFailures &&
         now < found->second.forget_at;
}

std::optional<LoginGuard::Turn> LoginGuard::wait(std::string_view peer, Time now) {
  const auto found = peers_.find(name_of(peer));
  CHECK(found != peers_.end());
  Peer& known = found->second;
  // Per address, so that one guesser cannot take all places.
  if (known.waiting == kWaitingOfPeerMax || waiting_ == kWaitingMax) return std::nullopt;
  ++known.waiting;
  ++waiting_;
  return Turn{.at = now + wait_among(known.waiting), .peer = found->first};
}

void LoginGuard::leave(const Turn& turn) {
  const auto found = peers_.find(turn.peer);
  CHECK(found != peers_.end() && found->second.waiting > 0);
  CHECK(waiting_ >= found->second.waiting);
  --found->second.waiting;
  --waiting_;
}

/// Peers with a login that waits stay, since `leave` looks for them.
void LoginGuard::forget_quiet(Time now) {
  absl::erase_if(peers_, [=](const auto& entry) {
    return entry.second.forget_at <= now && entry.second.waiting == 0;
  });
}

void LoginGuard::note_failure(std::string_view peer, Time now) {
  if (peers_.size() >= kPeersMax && !peers_.contains(peer)) forget_quiet(now);
  Peer& known = peers_[std::string(name_of(peer))];
  // Failures of long ago do not count.
  if (known.forget_at <= now) known.failures = 0;
  // Only whether there were more than the free ones matters.
  if (known.failures <= kFreeFailures) ++known.failures;
  known.forget_at = now + kFailuresRemembered;
}

}  // namespace millrace::faktory
