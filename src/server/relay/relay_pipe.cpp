#include "server/relay/relay_pipe.hpp"

#include <asio/buffer.hpp>
#include <asio/error.hpp>
#include <system_error>
#include <utility>

namespace millrace::server {

void RelayPipe::work(std::span<char> room) {
  if (is_full()) send(std::exchange(kept_, {}));
  for (int round = 0; round < kRelayRoundsPerTurn; ++round) {
    if (is_full() || state_ != State::kOpen) return;
    const std::size_t size = receive(room);
    send({room.data(), size});
    // More that has come by now is told at once.
    if (size < room.size()) return;
  }
}

/// Keeps what the system has no room for.
void RelayPipe::send(std::string_view bytes) {
  std::error_code problem;
  const std::size_t sent = to_.write_some(asio::buffer(bytes), problem);
  moved_bytes_ += sent;
  if (problem && problem != asio::error::would_block) {
    state_ = State::kReceiverBroken;
    return;
  }
  // One that is held up seldom needs no room for it.
  std::string(bytes.substr(sent)).swap(kept_);
}

/// 0: nothing has arrived, or the end.
std::size_t RelayPipe::receive(std::span<char> room) {
  std::error_code problem;
  const std::size_t size = from_.read_some(asio::buffer(room.data(), room.size()), problem);
  if (!problem || problem == asio::error::would_block) return size;
  state_ = State::kSenderBroken;
  if (problem == asio::error::eof) {
    to_.shutdown(RelaySocket::shutdown_send, problem);
    state_ = problem ? State::kReceiverBroken : State::kEnded;
  }
  return 0;
}

}  // namespace millrace::server
