#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "server/net/peer.hpp"
#include "server/net/poller.hpp"
#include "support/doctest.hpp"

namespace millrace::server {

/// One end of a stream, that of a client or of a leader. It never blocks.
class End {
 public:
  explicit End(int descriptor) : descriptor_(descriptor) {
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
  }
  ~End() { close(); }
  End(End&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  End& operator=(End&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  /// How much of it was taken.
  std::size_t send(std::string_view text) const {
    const ssize_t count = ::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL);
    return count < 0 ? 0 : static_cast<std::size_t>(count);
  }
  /// What has arrived; "|" where the stream ended, "!" where it broke.
  [[nodiscard]] std::string receive() const {
    std::string all;
    std::array<char, 65536> part{};
    for (;;) {
      const ssize_t count = recv(descriptor_, part.data(), part.size(), 0);
      if (count < 0) return errno == EAGAIN ? all : all + "!";
      if (count == 0) return all + "|";
      all.append(part.data(), static_cast<std::size_t>(count));
    }
  }
  void finish() const { shutdown(descriptor_, SHUT_WR); }
  void close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

struct Ends {
  End ours;
  End theirs;
};

inline Ends make_stream() {
  int both[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, both) == 0);
  return {End(both[0]), End(both[1])};
}

/// A port on which a leader may listen.
class LeaderPort {
 public:
  LeaderPort() {
    REQUIRE(bind(listener_, reinterpret_cast<sockaddr*>(&address_), sizeof address_) == 0);
    socklen_t size = sizeof address_;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address_), &size);
  }
  ~LeaderPort() { ::close(listener_); }
  LeaderPort(const LeaderPort&) = delete;
  LeaderPort& operator=(const LeaderPort&) = delete;

  void listen() const { REQUIRE(::listen(listener_, 128) == 0); }
  [[nodiscard]] End accept() const { return End(accept4(listener_, nullptr, nullptr, 0)); }
  [[nodiscard]] std::uint16_t port() const { return ntohs(address_.sin_port); }
  [[nodiscard]] SocketName name() const {
    SocketName name;
    std::memcpy(&name.storage, &address_, sizeof address_);
    name.size = sizeof address_;
    return name;
  }

 private:
  int listener_ = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address_{.sin_family = AF_INET,
                       .sin_port = 0,
                       .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)},
                       .sin_zero = {}};
};

/// Lets the poller work until it is so.
inline bool comes(Poller& poller, const std::function<bool()>& is_so) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    poller.take(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace millrace::server
