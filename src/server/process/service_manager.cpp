#include "server/process/service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace millrace::server {
namespace {

constexpr std::string_view kReady = "READY=1";

Problem not_told(const std::string& socket, const char* why) {
  return Problem{"cannot tell " + socket + " that the server is ready: " + why};
}

}  // namespace

Outcome<Done> tell_ready(const std::string& socket) {
  if (socket.empty()) return Done{};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.size() >= sizeof(address.sun_path)) return not_told(socket, "the path is too long");
  std::copy(socket.begin(), socket.end(), address.sun_path);
  if (socket.front() == '@') address.sun_path[0] = '\0';
  const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return not_told(socket, std::strerror(errno));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket.size());
  const ssize_t sent = sendto(descriptor, kReady.data(), kReady.size(), MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&address), size);
  const int problem = errno;
  close(descriptor);
  if (sent < 0) return not_told(socket, std::strerror(problem));
  return Done{};
}

}  // namespace millrace::server
