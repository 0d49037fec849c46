#include "server/net/peer.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

namespace millrace::server {

std::string peer_of(const sockaddr* address) {
  constexpr std::size_t kNetworkBytes = 8;
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    return {reinterpret_cast<const char*>(&v4->sin_addr), sizeof v4->sin_addr};
  }
  if (address->sa_family != AF_INET6) return "unix socket";
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
  const bool is_mapped = IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);
  const auto* bytes = reinterpret_cast<const char*>(&v6->sin6_addr);
  return {bytes, is_mapped ? sizeof v6->sin6_addr : kNetworkBytes};
}

}  // namespace millrace::server
