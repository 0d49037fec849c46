#include "server/statsd/statsd_socket.hpp"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

namespace millrace::server {

Outcome<Done> StatsdSocket::open(const Address& address) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_DGRAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const std::string port = std::to_string(address.port);
  const int error = ::getaddrinfo(address.host.c_str(), port.c_str(), &wanted, &list);
  if (error != 0) return Problem{"cannot find " + address.host + ": " + gai_strerror(error)};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> found(list, &freeaddrinfo);
  int reason = 0;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    const int descriptor = ::socket(each->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor >= 0 && ::connect(descriptor, each->ai_addr, each->ai_addrlen) == 0) {
      close();
      descriptor_ = descriptor;
      return Done{};
    }
    reason = errno;
    if (descriptor >= 0) ::close(descriptor);
  }
  return Problem{"cannot send to " + address.text() + ": " + std::strerror(reason)};
}

int StatsdSocket::send(std::string_view datagram) const {
  const ssize_t sent = ::send(descriptor_, datagram.data(), datagram.size(), MSG_NOSIGNAL);
  if (sent >= 0 || errno == EAGAIN || errno == ENOBUFS) return 0;
  return errno;
}

void StatsdSocket::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

}  // namespace millrace::server
