#include "server/net/peer.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/doctest.hpp"

namespace millrace::server {
namespace {

using namespace std::string_literals;

Place place(const char* number) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(80);
  if (inet_pton(AF_INET, number, &v4.sin_addr) == 1) {
    return *place_of(reinterpret_cast<const sockaddr*>(&v4));
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(80);
  REQUIRE(inet_pton(AF_INET6, number, &v6.sin6_addr) == 1);
  return *place_of(reinterpret_cast<const sockaddr*>(&v6));
}

std::string peer_at(const char* number) {
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  REQUIRE(inet_pton(AF_INET6, number, &name.sin6_addr) == 1);
  return peer_of(reinterpret_cast<const sockaddr*>(&name));
}

std::string peer_at_v4(const char* number) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  REQUIRE(inet_pton(AF_INET, number, &name.sin_addr) == 1);
  return peer_of(reinterpret_cast<const sockaddr*>(&name));
}

}  // namespace

TEST_CASE("place: an IPv4 address is the same in both of its forms") {
  CHECK(place("10.1.2.3") == place("::ffff:10.1.2.3"));
  CHECK(place("10.1.2.3") != place("10.1.2.4"));
  CHECK(place("10.1.2.3").port == 80);
}

TEST_CASE("place: all of 127.0.0.0/8 and ::1 are loopback") {
  for (const char* number : {"127.0.0.1", "127.0.1.1", "127.255.255.254", "::1", "::ffff:127.0.0.1",
                             "::ffff:127.9.9.9"}) {
    CHECK_MESSAGE(place(number).is_loopback(), number);
  }
  for (const char* number :
       {"126.0.0.1", "128.0.0.1", "::2", "::", "0.0.0.0", "fe80::1", "1::1", "::ffff:10.0.0.127"}) {
    CHECK_FALSE_MESSAGE(place(number).is_loopback(), number);
  }
}

TEST_CASE("place: the address that stands for all") {
  for (const char* number : {"0.0.0.0", "::", "::ffff:0.0.0.0"}) {
    CHECK_MESSAGE(place(number).is_any(), number);
  }
  CHECK_FALSE(place("::1").is_any());
  CHECK_FALSE(place("0.0.0.1").is_any());
}

TEST_CASE("place: the addresses of this machine are known") {
  CHECK(is_of_this_machine(place("127.0.0.1")));
  CHECK_FALSE(is_of_this_machine(place("192.0.2.1")));
}

TEST_CASE("place: a unix socket has none") {
  int both[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, both) == 0);
  CHECK_FALSE(near_end(both[0]));
  CHECK_FALSE(far_end(both[0]));
  ::close(both[0]);
  ::close(both[1]);
}

TEST_CASE("peer: an IPv4 address is the same one at a socket of IPv6") {
  CHECK(peer_at_v4("192.0.2.7") == "\xC0\x00\x02\x07"s);
  CHECK(peer_at("::ffff:192.0.2.7") == peer_at_v4("192.0.2.7"));
}

TEST_CASE("peer: of an IPv6 address the network counts") {
  CHECK(peer_at("2001:db8:0:1::5") == "\x20\x01\x0d\xb8\0\0\0\x01"s);
  CHECK(peer_at("2001:db8:0:1:ffff::") == peer_at("2001:db8:0:1::5"));
  CHECK(peer_at("2001:db8:0:2::5") != peer_at("2001:db8:0:1::5"));
}

TEST_CASE("peer: clients of a unix socket are one") {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  CHECK(peer_of(reinterpret_cast<const sockaddr*>(&name)) == "unix socket");
}

}  // namespace millrace::server
