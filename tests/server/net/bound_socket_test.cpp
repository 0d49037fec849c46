#include "server/net/bound_socket.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "support/doctest.hpp"

namespace millrace::server {
namespace {

constexpr bool kHasConnected = true;

Outcome<BoundSocket> bind_to(const std::string& text) {
  return BoundSocket::bind(parse_address(text).value(), Log([](std::string_view) {}));
}

bool connects(int family, const void* name, socklen_t size) {
  const int client = ::socket(family, SOCK_STREAM, 0);
  const bool can = ::connect(client, static_cast<const sockaddr*>(name), size) == 0;
  ::close(client);
  return can;
}

bool connects_by_v4(std::uint16_t port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connects(AF_INET, &name, sizeof name);
}

bool connects_by_v6(std::uint16_t port) {
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  name.sin6_port = htons(port);
  name.sin6_addr = in6addr_loopback;
  return connects(AF_INET6, &name, sizeof name);
}

/// Whether clients of IPv4, and of IPv6, reach a socket that is opened there.
std::pair<bool, bool> reached_by(const std::string& text) {
  const auto socket = bind_to(text);
  REQUIRE_MESSAGE(socket, socket.error().text);
  REQUIRE(::listen(socket.value().descriptor(), 8) == 0);
  const std::uint16_t port = socket.value().address().port;
  return {connects_by_v4(port), connects_by_v6(port)};
}

}  // namespace

TEST_CASE("bound socket: a port without a host is one socket for IPv6 and IPv4") {
  CHECK(reached_by(":0") == std::pair(kHasConnected, kHasConnected));
  CHECK(reached_by("*:0") == std::pair(kHasConnected, kHasConnected));
  CHECK(reached_by("[::]:0") == std::pair(kHasConnected, kHasConnected));
  CHECK(bind_to(":0").value().address().host == "::");
}

TEST_CASE("bound socket: an address of one family is for that family") {
  CHECK(reached_by("0.0.0.0:0") == std::pair(kHasConnected, false));
  CHECK(reached_by("127.0.0.1:0") == std::pair(kHasConnected, false));
  CHECK(reached_by("localhost:0") == std::pair(kHasConnected, false));
  CHECK(reached_by("[::1]:0") == std::pair(false, kHasConnected));
}

TEST_CASE("bound socket: every address is not loopback") {
  CHECK_FALSE(bind_to(":0").value().is_local());
  CHECK_FALSE(bind_to("[::]:0").value().is_local());
  CHECK_FALSE(bind_to("0.0.0.0:0").value().is_local());
  CHECK(bind_to("[::1]:0").value().is_local());
  CHECK(bind_to("127.0.0.9:0").value().is_local());
}

}  // namespace millrace::server
