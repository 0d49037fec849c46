#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/text_map.hpp"
#include "core/model/types.hpp"

namespace millrace::faktory {

/// Slows down who tries passwords. An address from which several wrong ones have come is a slow
/// one: each of its logins waits for a turn before its password is looked at, right and wrong ones
/// alike, since otherwise nobody who tries them would wait for the answer. Nobody waits for longer
/// than `kTurnWaitMax`, so a right password gets in while others of the address try wrong ones:
/// with so many at once that the wait would become longer, turns come closer. Other addresses are
/// not affected.
///
/// The logins of an address must be looked at one after the other, each only if the address is not
/// slow by then: so of many that come at once no more than a few are looked at before it is.
class LoginGuard {
 public:
  /// Of one login that waits.
  struct Turn {
    Time at;
    std::string peer;  ///< as which it is counted
  };

  [[nodiscard]] bool is_slow(std::string_view peer, Time now) const;

  /// A turn for a further login of a slow peer, to be given back by `leave` whatever comes of it.
  /// nullopt: so many wait already that it should be sent away.
  [[nodiscard]] std::optional<Turn> wait(std::string_view peer, Time now);
  void leave(const Turn& turn);

  /// The password was wrong.
  void note_failure(std::string_view peer, Time now);

  [[nodiscard]] std::size_t size() const { return peers_.size(); }

 private:
  struct Peer {
    std::uint32_t failures = 0;
    std::uint32_t waiting = 0;
    Time forget_at{};
  };

  [[nodiscard]] std::string_view name_of(std::string_view peer) const;
  void forget_quiet(Time now);

  TextMap<Peer> peers_;
  std::size_t waiting_ = 0;  ///< of all peers
};

/// So many wrong passwords cost nothing: people mistype.
inline constexpr std::uint32_t kFreeFailures = 3;

/// How long a login of a slow peer waits when it is the only one; with n of them, sqrt(n) as long.
inline constexpr Duration kTurnPause = 100ms;

/// So many logins of a slow peer may wait, and of all slow peers.
inline constexpr std::uint32_t kWaitingOfPeerMax = 1000;
inline constexpr std::size_t kWaitingMax = 4000;

/// kTurnPause * sqrt(kWaitingOfPeerMax), rounded up: clients give up after 5 s.
inline constexpr Duration kTurnWaitMax = 3200ms;

/// A peer is forgotten when it was quiet for so long.
inline constexpr Duration kFailuresRemembered = 10min;

/// So many peers are remembered; those beyond are treated as one.
inline constexpr std::size_t kPeersMax = 4096;

}  // namespace millrace::faktory
