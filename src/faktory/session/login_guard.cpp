#include "faktory/session/login_guard.hpp"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <tuple>

#include "base/check.hpp"

namespace millrace::faktory {
namespace {

/// An IPv6 /64, and the /56 that it is in.
constexpr std::size_t kPeerNetworkBytes = 8;
constexpr std::size_t kPeerSiteBytes = 7;

/// The same as `peer` if that is no IPv6 network.
std::string_view site_of(std::string_view peer) {
  return peer.size() == kPeerNetworkBytes ? peer.substr(0, kPeerSiteBytes) : peer;
}

std::uint32_t free_failures(std::string_view name) {
  return name.size() == kPeerSiteBytes ? kFreeFailuresOfSite : kFreeFailures;
}

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

bool LoginGuard::is_slow_name(std::string_view name, Time now) const {
  const auto found = peers_.find(name);
  return found != peers_.end() && found->second.failures > free_failures(name) &&
         now < found->second.forget_at;
}

bool LoginGuard::is_slow(std::string_view peer, Time now) const {
  return is_slow_name(peer, now) || is_slow_name(site_of(peer), now);
}

std::optional<LoginGuard::Turn> LoginGuard::wait(std::string_view peer, Time now) {
  // All of a slow site stand in one line.
  const std::string_view site = site_of(peer);
  const std::string name(is_slow_name(site, now) ? site : peer);
  Peer& known = peers_[name];
  // Per address, so that one guesser cannot take all places.
  if (known.waiting == kWaitingOfPeerMax) return std::nullopt;
  if (waiting_ >= kWaitingMax && known.waiting > 0) return std::nullopt;
  ++known.waiting;
  ++waiting_;
  return Turn{.at = now + wait_among(known.waiting), .peer = name};
}

void LoginGuard::leave(const Turn& turn) {
  const auto found = peers_.find(turn.peer);
  CHECK(found != peers_.end() && found->second.waiting > 0);
  CHECK(waiting_ >= found->second.waiting);
  --found->second.waiting;
  --waiting_;
}

/// False: all peers have logins that wait. These stay, since `leave` looks for them.
bool LoginGuard::make_room(Time now) {
  if (peers_.size() < kPeersMax) return true;
  absl::erase_if(peers_, [=](const auto& entry) {
    return entry.second.forget_at <= now && entry.second.waiting == 0;
  });
  if (peers_.size() < kPeersMax) return true;
  const auto guilt = [](const auto& entry) {
    const auto& [name, peer] = entry;
    return std::tuple(peer.waiting > 0, peer.failures > free_failures(name), peer.failures,
                      peer.forget_at);
  };
  const auto least = std::ranges::min_element(peers_, {}, guilt);
  if (least->second.waiting > 0) return false;
  peers_.erase(least);
  return true;
}

void LoginGuard::count_failure(std::string_view name, Time now) {
  if (!peers_.contains(name) && !make_room(now)) return;
  Peer& known = peers_[std::string(name)];
  // Failures of long ago do not count.
  if (known.forget_at <= now) known.failures = 0;
  // Only whether there were more than the free ones matters.
  if (known.failures <= free_failures(name)) ++known.failures;
  known.forget_at = now + kFailuresRemembered;
}

void LoginGuard::note_failure(std::string_view peer, Time now) {
  const std::string_view site = site_of(peer);
  if (site != peer) count_failure(site, now);
  count_failure(peer, now);
}

}  // namespace millrace::faktory
