#include "faktory/login_guard.hpp"

#include <absl/container/flat_hash_map.h>

#include <algorithm>

namespace millrace::faktory {
namespace {

/// Stands for all peers for which there is no room.
constexpr std::string_view kOthers = "others";

Duration pause_after(std::uint32_t failures) {
  constexpr std::uint32_t kDoublingsMax = 10;
  const std::uint32_t doublings = std::min(failures - kFreeFailures - 1, kDoublingsMax);
  return std::min(kTurnPauseMin * (1 << doublings), kTurnPauseMax);
}

}  // namespace

LoginGuard::Peer& LoginGuard::peer_to_note(std::string_view peer, Time now) {
  if (const auto found = peers_.find(peer); found != peers_.end()) return found->second;
  if (peers_.size() >= kPeersMax) {
    absl::erase_if(peers_, [=](const auto& entry) { return entry.second.forget_at <= now; });
  }
  return peers_[std::string(peers_.size() >= kPeersMax ? kOthers : peer)];
}

std::optional<Time> LoginGuard::turn_of(std::string_view peer, Time now) {
  auto found = peers_.find(peer);
  if (found == peers_.end() && peers_.size() >= kPeersMax) found = peers_.find(kOthers);
  if (found == peers_.end()) return now;
  if (found->second.forget_at <= now) {
    peers_.erase(found);
    return now;
  }
  Peer& known = found->second;
  if (known.failures <= kFreeFailures) return now;
  const Time turn = std::max(now, known.next_turn);
  if (turn - now > kTurnWaitMax) return std::nullopt;
  known.next_turn = turn + pause_after(known.failures);
  return turn;
}

void LoginGuard::note_failure(std::string_view peer, Time now) {
  Peer& known = peer_to_note(peer, now);
  if (known.forget_at <= now) known = Peer{};
  ++known.failures;
  known.forget_at = now + kFailuresRemembered;
  if (known.failures == kFreeFailures + 1) known.next_turn = now + pause_after(known.failures);
}

}  // namespace millrace::faktory
