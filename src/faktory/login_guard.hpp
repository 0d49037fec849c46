#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/text_map.hpp"
#include "core/types.hpp"

namespace millrace::faktory {

/// Slows down who tries passwords. An address from which several wrong ones have come gets a turn
/// only now and then, for right and wrong passwords alike: were only wrong ones delayed, nobody who
/// tries them would wait for the answer. Other addresses are not affected.
class LoginGuard {
 public:
  /// When the password that the peer has just sent may be looked at: `now`, or later. nullopt: so
  /// many of the peer wait already that it should be sent away.
  [[nodiscard]] std::optional<Time> turn_of(std::string_view peer, Time now);

  /// The password was wrong.
  void note_failure(std::string_view peer, Time now);

  [[nodiscard]] std::size_t size() const { return peers_.size(); }

 private:
  struct Peer {
    std::uint32_t failures = 0;
    Time next_turn{};
    Time forget_at{};
  };

  Peer& peer_to_note(std::string_view peer, Time now);

  TextMap<Peer> peers_;
};

/// So many wrong passwords cost nothing: people mistype.
inline constexpr std::uint32_t kFreeFailures = 3;

/// Between two turns of a peer; it doubles with each failure.
inline constexpr Duration kTurnPauseMin = 100ms;
inline constexpr Duration kTurnPauseMax = 2s;

/// Nobody is left waiting for longer: clients give up after 5 s.
inline constexpr Duration kTurnWaitMax = 4s;

/// A peer is forgotten when it was quiet for so long.
inline constexpr Duration kFailuresRemembered = 10min;

/// So many peers are remembered; those beyond are treated as one.
inline constexpr std::size_t kPeersMax = 4096;

}  // namespace millrace::faktory
