#include "tools/peers/same_port.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "tools/peers/peer_addresses.hpp"

namespace millrace::tools {
namespace {

std::optional<client::Target> target_of(std::string_view name) {
  if (auto target = parse_beanstalk_address(name)) return target;
  const auto address = parse_faktory_address(name);
  return address ? std::optional(address->target) : std::nullopt;
}

/// An address of IPv4 that is written as one of IPv6.
constexpr std::string_view kMapped = "::ffff:";

/// In numbers. Empty: the name is not known.
std::set<std::string> places_of(const client::Target& target) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (::getaddrinfo(target.host.c_str(), nullptr, &wanted, &list) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(list, freeaddrinfo);
  std::set<std::string> places;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    std::string host(NI_MAXHOST, '\0');
    const int named =
        ::getnameinfo(each->ai_addr, each->ai_addrlen, host.data(),
                      static_cast<socklen_t>(host.size()), nullptr, 0, NI_NUMERICHOST);
    if (named != 0) continue;
    host.resize(host.find('\0'));
    places.insert(host.starts_with(kMapped) ? host.substr(kMapped.size()) : host);
  }
  return places;
}

}  // namespace

bool lead_to_one_port(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto left = target_of(a);
  const auto right = target_of(b);
  if (!left || !right || left->port != right->port) return false;
  const std::set<std::string> places = places_of(*left);
  for (const std::string& place : places_of(*right)) {
    if (places.contains(place)) return true;
  }
  return false;
}

}  // namespace millrace::tools
