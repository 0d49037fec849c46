#include "server/net/peer.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace millrace::server {
namespace {

constexpr std::array<std::uint8_t, 12> kIpv4Prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool is_ipv4(const Place& place) {
  return std::equal(kIpv4Prefix.begin(), kIpv4Prefix.end(), place.address.begin());
}

using AskForName = int (*)(int, sockaddr*, socklen_t*);

std::optional<Place> end_of(int descriptor, AskForName ask) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* const name = reinterpret_cast<sockaddr*>(&storage);
  if (ask(descriptor, name, &size) != 0) return std::nullopt;
  return place_of(name);
}

}  // namespace

std::string peer_of(const sockaddr* address) {
  constexpr std::size_t kNetworkBytes = 8;
  constexpr std::size_t kMappedAt = 12;
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    return {reinterpret_cast<const char*>(&v4->sin_addr), sizeof v4->sin_addr};
  }
  if (address->sa_family != AF_INET6) return "unix socket";
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
  const auto* bytes = reinterpret_cast<const char*>(&v6->sin6_addr);
  if (!IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) return {bytes, kNetworkBytes};
  return {bytes + kMappedAt, sizeof v6->sin6_addr - kMappedAt};
}

std::string shown_address(const sockaddr* address) {
  const std::optional<Place> place = place_of(address);
  if (!place) return "unix socket";
  const bool is_v4 = is_ipv4(*place);
  char text[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(is_v4 ? AF_INET : AF_INET6, place->address.data() + (is_v4 ? kIpv4Prefix.size() : 0),
              text, sizeof text);
  return text;
}

bool Place::is_loopback() const {
  if (is_ipv4(*this)) return address[kIpv4Prefix.size()] == 127;
  return address.back() == 1 && std::all_of(address.begin(), address.end() - 1,
                                            [](std::uint8_t byte) { return byte == 0; });
}

bool Place::is_any() const {
  const auto begin = is_ipv4(*this) ? address.begin() + kIpv4Prefix.size() : address.begin();
  return std::all_of(begin, address.end(), [](std::uint8_t byte) { return byte == 0; });
}

std::optional<Place> place_of(const sockaddr* name) {
  Place place;
  if (name->sa_family == AF_INET) {
    const auto* const v4 = reinterpret_cast<const sockaddr_in*>(name);
    std::copy(kIpv4Prefix.begin(), kIpv4Prefix.end(), place.address.begin());
    std::memcpy(place.address.data() + kIpv4Prefix.size(), &v4->sin_addr, sizeof v4->sin_addr);
    place.port = ntohs(v4->sin_port);
    return place;
  }
  if (name->sa_family != AF_INET6) return std::nullopt;
  const auto* const v6 = reinterpret_cast<const sockaddr_in6*>(name);
  std::memcpy(place.address.data(), &v6->sin6_addr, place.address.size());
  place.port = ntohs(v6->sin6_port);
  return place;
}

std::optional<Place> near_end(int descriptor) {
  return end_of(descriptor, ::getsockname);
}

std::optional<Place> far_end(int descriptor) {
  return end_of(descriptor, ::getpeername);
}

std::optional<std::uint32_t> user_of_peer(int descriptor) {
  ucred who{};
  socklen_t size = sizeof who;
  const bool is_known = getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
                        // Of a socket of another kind the system says -1.
                        who.uid != static_cast<uid_t>(-1);
  return is_known ? std::optional<std::uint32_t>(who.uid) : std::nullopt;
}

bool has_ended(int descriptor) {
  pollfd asked{.fd = descriptor, .events = POLLRDHUP, .revents = 0};
  return ::poll(&asked, 1, 0) > 0;
}

bool is_broken(int descriptor) {
  pollfd asked{.fd = descriptor, .events = 0, .revents = 0};
  return ::poll(&asked, 1, 0) > 0 && (asked.revents & (POLLERR | POLLHUP)) != 0;
}

bool is_of_this_machine(const Place& place) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return false;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owned(list, &freeifaddrs);
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr) continue;
    const auto own = place_of(each->ifa_addr);
    if (own && own->address == place.address) return true;
  }
  return false;
}

}  // namespace millrace::server
