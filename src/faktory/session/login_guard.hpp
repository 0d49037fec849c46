#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/text_map.hpp"
#include "core/model/types.hpp"

namespace millrace::faktory {

/// Slows down clients that try passwords. An address from which several wrong ones have come is
/// slow: each of its logins waits for a turn before its password is checked. Right passwords wait
/// like wrong ones, since otherwise a client that tries passwords would not wait for the answer. No
/// login waits longer than `kTurnWaitMax`, so that a right password gets in while other clients of
/// the address try wrong ones: the more of them wait, the closer their turns are. Other addresses
/// are not affected.
///
/// A peer is as the service was told (`server/net/peer.hpp`). One of 8 bytes is an IPv6 /64, and
/// its failures count for its /56 as well, which may have more of them: most sites get that much,
/// and a client in it can take any address. When there is no room for another peer, the one with
/// the fewest failures is forgotten.
///
/// The logins of an address must be checked one after the other, each only if the address is not
/// slow by then. So of many that come at once, only a few are checked before the address is slow.
class LoginGuard {
 public:
  /// When a login that waits may be checked.
  struct Turn {
    Time at;
    std::string peer;  ///< the name under which it is counted
  };

  [[nodiscard]] bool is_slow(std::string_view peer, Time now) const;

  /// A turn for a further login of a peer that was slow just now. It must be given back by `leave`,
  /// whatever comes of the login. nullopt: too many wait already, and the client should be sent
  /// away.
  [[nodiscard]] std::optional<Turn> wait(std::string_view peer, Time now);
  void leave(const Turn& turn);

  /// A login of the peer had a wrong password.
  void note_failure(std::string_view peer, Time now);

  /// How many peers are remembered, with each /56.
  [[nodiscard]] std::size_t size() const { return peers_.size(); }

 private:
  struct Peer {
    std::uint32_t failures = 0;
    std::uint32_t waiting = 0;
    Time forget_at{};
  };

  [[nodiscard]] bool is_slow_name(std::string_view name, Time now) const;
  void count_failure(std::string_view name, Time now);
  [[nodiscard]] bool make_room(Time now);

  TextMap<Peer> peers_;      ///< and sites
  std::size_t waiting_ = 0;  ///< of all peers
};

/// How many wrong passwords cost nothing: people mistype. Of an IPv6 /56, many people.
inline constexpr std::uint32_t kFreeFailures = 3;
inline constexpr std::uint32_t kFreeFailuresOfSite = 30;

/// How long a login of a slow peer waits when it is the only one; with n of them, sqrt(n) as long.
inline constexpr Duration kTurnPause = 100ms;

/// How many logins of one slow peer may wait, and how many of all slow peers. Of each, one may
/// always wait, so that a guesser with many addresses takes the last place of no other.
inline constexpr std::uint32_t kWaitingOfPeerMax = 1000;
inline constexpr std::size_t kWaitingMax = 4000;

/// kTurnPause * sqrt(kWaitingOfPeerMax), rounded up: clients give up after 5 s.
inline constexpr Duration kTurnWaitMax = 3200ms;

/// A peer is forgotten when no wrong password has come from it for so long.
inline constexpr Duration kFailuresRemembered = 10min;

/// How many peers are remembered.
inline constexpr std::size_t kPeersMax = 4096;

}  // namespace millrace::faktory
