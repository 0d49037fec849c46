#include "server/client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "support/doctest.hpp"

namespace millrace::server {
namespace {

int connect_unix(const std::string& path) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.c_str(), path.size() + 1);
  REQUIRE(::connect(socket, reinterpret_cast<sockaddr*>(&name), sizeof name) == 0);
  return socket;
}

int connect_tcp(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::connect(socket, reinterpret_cast<sockaddr*>(&name), sizeof name) == 0);
  // What was sent is on its way when `send` returns, however little it is.
  const int is_on = 1;
  REQUIRE(::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &is_on, sizeof is_on) == 0);
  return socket;
}

}  // namespace

SocketClient::SocketClient(const Address& address)
    : socket_(address.is_unix() ? connect_unix(address.path) : connect_tcp(address.port)) {}

SocketClient::~SocketClient() {
  if (socket_ >= 0) ::close(socket_);
}

SocketClient::SocketClient(SocketClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), has_seen_end_(other.has_seen_end_) {}

bool SocketClient::wait(short events, std::chrono::milliseconds patience) const {
  pollfd watched{.fd = socket_, .events = events, .revents = 0};
  return ::poll(&watched, 1, static_cast<int>(patience.count())) > 0;
}

void SocketClient::send(std::string_view bytes) {
  REQUIRE(send_what_fits(bytes, kPatience) == bytes.size());
}

std::size_t SocketClient::send_what_fits(std::string_view bytes,
                                         std::chrono::milliseconds patience) {
  std::size_t sent = 0;
  while (sent < bytes.size() && wait(POLLOUT, patience)) {
    const ssize_t size =
        ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size < 0) break;
    sent += static_cast<std::size_t>(size);
  }
  return sent;
}

std::string SocketClient::read(std::size_t size) {
  std::string bytes;
  while (bytes.size() < size) {
    REQUIRE(wait(POLLIN, kPatience));
    const std::size_t begin = bytes.size();
    bytes.resize(size);
    const ssize_t got = ::recv(socket_, bytes.data() + begin, size - begin, 0);
    bytes.resize(begin + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got <= 0) break;
  }
  return bytes;
}

std::string SocketClient::read_available() {
  return read_some(std::chrono::milliseconds(0));
}

std::string SocketClient::read_some(std::chrono::milliseconds patience) {
  std::string bytes(64 * 1024, '\0');
  if (!wait(POLLIN, patience)) return {};
  const ssize_t got = ::recv(socket_, bytes.data(), bytes.size(), 0);
  if (got <= 0) has_seen_end_ = true;
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

std::string SocketClient::ask(std::string_view bytes, std::string_view expected) {
  send(bytes);
  return read(expected.size());
}

bool SocketClient::is_closed_by_server() {
  char byte = 0;
  if (has_seen_end_) return true;
  return wait(POLLIN, kPatience) && ::recv(socket_, &byte, 1, MSG_PEEK) <= 0;
}

void SocketClient::half_close() {
  ::shutdown(socket_, SHUT_WR);
}

void SocketClient::reset() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ::close(std::exchange(socket_, -1));
}

}  // namespace millrace::server
