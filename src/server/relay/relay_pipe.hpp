#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace millrace::server {

/// What has arrived and cannot be sent on at once. One for all pipes, since they work one at a
/// time.
using RelayRoom = std::array<char, 64 * 1024>;

/// One direction of a relayed connection: what arrives at a socket is sent on another one, and then
/// its end. While the receiver takes nothing, at most one `RelayRoom` is kept, and the rest is left
/// to the sender's socket: so the sender is held up as by the receiver itself.
class RelayPipe {
 public:
  enum class State {
    kOpen,
    kEnded,           ///< everything was sent on, and the end too
    kSenderBroken,    ///< nothing more can be received
    kReceiverBroken,  ///< nothing more can be sent
  };

  /// Sockets that do not block; they are the owner's.
  RelayPipe(int from, int to) : from_(from), to_(to) {}

  /// Something has arrived. `is_over`: the end, or an error, is among it.
  void note_input(bool is_over) {
    has_input_ = true;
    is_over_ = is_over_ || is_over;
  }

  /// Moves what can be moved without waiting. True: there is more, and others are to have their
  /// turn.
  [[nodiscard]] bool work(RelayRoom& room);

  [[nodiscard]] State state() const { return state_; }

  /// So much was sent on.
  [[nodiscard]] std::uint64_t moved_bytes() const { return moved_bytes_; }

 private:
  [[nodiscard]] bool send_kept();
  [[nodiscard]] std::size_t send_some(const char* bytes, std::size_t size);
  [[nodiscard]] std::size_t receive(RelayRoom& room);

  int from_;
  int to_;
  State state_ = State::kOpen;
  bool has_input_ = false;
  bool is_over_ = false;
  std::uint64_t moved_bytes_ = 0;
  std::string kept_;
};

/// How much a pipe moves before others have their turn: so many rooms.
inline constexpr int kRelayRoundsPerTurn = 4;

}  // namespace millrace::server
