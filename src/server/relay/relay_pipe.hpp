#pragma once

#include <asio/generic/stream_protocol.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace millrace::server {

using RelaySocket = asio::generic::stream_protocol::socket;

/// One direction of a relayed connection: what arrives at a socket is sent on another one, and then
/// its end. While the receiver takes nothing, at most one room is kept, and the rest is left to the
/// sender's socket: so the sender is held up as by the receiver itself.
class RelayPipe {
 public:
  enum class State {
    kOpen,
    kEnded,           ///< everything was sent on, and the end too
    kSenderBroken,    ///< nothing more can be received
    kReceiverBroken,  ///< nothing more can be sent
  };

  /// Sockets that do not block; they are the owner's.
  RelayPipe(RelaySocket& from, RelaySocket& to) : from_(from), to_(to) {}

  /// Moves what can be moved without waiting, for one turn.
  void work(std::span<char> room);

  /// Calls `handler` when there is something to do for `work`, once, whoever asks meanwhile.
  template <typename Handler>
  void wait(Handler handler) {
    if (state_ != State::kOpen || std::exchange(waits_, true)) return;
    auto note = [this, handler = std::move(handler)](const std::error_code& problem) {
      waits_ = false;
      handler(problem);
    };
    if (is_full()) return to_.async_wait(RelaySocket::wait_write, std::move(note));
    from_.async_wait(RelaySocket::wait_read, std::move(note));
  }

  [[nodiscard]] State state() const { return state_; }

  /// Nothing has happened since `wait`.
  [[nodiscard]] bool waits() const { return waits_; }

  /// The receiver takes nothing at present, so nothing is received.
  [[nodiscard]] bool is_full() const { return !kept_.empty(); }

  /// So much was sent on.
  [[nodiscard]] std::uint64_t moved_bytes() const { return moved_bytes_; }

 private:
  void send(std::string_view bytes);
  [[nodiscard]] std::size_t receive(std::span<char> room);

  RelaySocket& from_;
  RelaySocket& to_;
  State state_ = State::kOpen;
  std::uint64_t moved_bytes_ = 0;
  std::string kept_;
  bool waits_ = false;
};

/// How much a pipe moves before others have their turn: so many rooms.
inline constexpr int kRelayRoundsPerTurn = 4;

}  // namespace millrace::server
