#pragma once

#include <array>
#include <cstddef>
#include <optional>

namespace millrace::server {

/// The life of a connection, as its socket half sees it.
enum class ConnectionState {
  kOpen,       ///< the client sends and is answered
  kHalfOpen,   ///< the client sends nothing more and is answered
  kLingering,  ///< all is answered and our side is closed; what still arrives is thrown away
  kClosed,
};
inline constexpr std::size_t kConnectionStateCount = 4;

enum class ConnectionEvent {
  kInputEnded,  ///< the client sends nothing more
  kFinished,    ///< all output was sent, and no more comes
  kBroken,      ///< nothing more reaches the client, or nothing more is to reach it
};
inline constexpr std::size_t kConnectionEventCount = 3;

/// A row for each state, in their order: the state after each event; nullopt where that cannot
/// happen. A client that sends nothing more has nothing to lose when it is closed at once; another
/// may still send, and closing then would make the system throw our last reply away.
inline constexpr std::array<std::array<std::optional<ConnectionState>, kConnectionEventCount>,
                            kConnectionStateCount>
    kConnectionMoves = {{
        //  kInputEnded                  kFinished                    kBroken
        {ConnectionState::kHalfOpen, ConnectionState::kLingering, ConnectionState::kClosed},
        {std::nullopt, ConnectionState::kClosed, ConnectionState::kClosed},
        {ConnectionState::kClosed, std::nullopt, ConnectionState::kClosed},
        {std::nullopt, std::nullopt, std::nullopt},
    }};

/// The state after `event`; nullopt when that cannot happen in `state`.
[[nodiscard]] constexpr std::optional<ConnectionState> next_state(ConnectionState state,
                                                                  ConnectionEvent event) {
  return kConnectionMoves[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)];
}

}  // namespace millrace::server
