#include "server/relay/relay_pipe.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace millrace::server {

bool RelayPipe::work(RelayRoom& room) {
  for (int round = 0; round < kRelayRoundsPerTurn; ++round) {
    if (state_ != State::kOpen || !send_kept() || !has_input_) return false;
    const std::size_t size = receive(room);
    if (size == 0) return false;
    const std::size_t sent = send_some(room.data(), size);
    kept_.assign(room.data() + sent, size - sent);
  }
  return true;
}

/// False: something is left, and the receiver takes nothing now.
bool RelayPipe::send_kept() {
  if (kept_.empty()) return true;
  kept_.erase(0, send_some(kept_.data(), kept_.size()));
  if (!kept_.empty()) return false;
  // One that is held up seldom needs no room for it.
  kept_.shrink_to_fit();
  return state_ == State::kOpen;
}

/// Until the system has no room: it tells only then when there is room again.
std::size_t RelayPipe::send_some(const char* bytes, std::size_t size) {
  std::size_t sent = 0;
  while (sent < size) {
    const ssize_t count = ::send(to_, bytes + sent, size - sent, MSG_NOSIGNAL);
    if (count >= 0) {
      sent += static_cast<std::size_t>(count);
      moved_bytes_ += static_cast<std::uint64_t>(count);
    } else if (errno != EINTR) {
      if (errno != EAGAIN) state_ = State::kReceiverBroken;
      return sent;
    }
  }
  return sent;
}

/// 0: nothing has arrived, or the end.
std::size_t RelayPipe::receive(RelayRoom& room) {
  ssize_t count = -1;
  do {
    count = ::recv(from_, room.data(), room.size(), 0);
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    has_input_ = false;
    if (errno != EAGAIN) state_ = State::kSenderBroken;
    return 0;
  }
  if (count == 0) {
    state_ = ::shutdown(to_, SHUT_WR) == 0 ? State::kEnded : State::kReceiverBroken;
    return 0;
  }
  // What arrives from now on is told anew. The end may have been told already.
  const auto size = static_cast<std::size_t>(count);
  has_input_ = size == room.size() || is_over_;
  return size;
}

}  // namespace millrace::server
