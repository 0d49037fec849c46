#pragma once

#include <string>

struct sockaddr;

namespace millrace::server {

/// What tells clients from elsewhere apart: an IPv4 address, or the network that an IPv6 address is
/// in, since a client that has one address there has all. All clients of a unix socket are one. For
/// programs, not people.
[[nodiscard]] std::string peer_of(const sockaddr* address);

}  // namespace millrace::server
