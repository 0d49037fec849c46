#include "server/net/bound_socket.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "support/doctest.hpp"
#include "support/scratch.hpp"

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

struct stat facts_of(const std::string& path) {
  struct stat facts {};
  REQUIRE(lstat(path.c_str(), &facts) == 0);
  return facts;
}

constexpr unsigned kModeBits = 0777;

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

TEST_CASE("bound socket: the mode of a unix socket's file is what is asked for") {
  const Scratch scratch;
  const auto socket = bind_to("unix:" + scratch.path("socket"));
  REQUIRE(socket.value().set_file_mode(0606));
  CHECK((facts_of(scratch.path("socket")).st_mode & kModeBits) == 0606);
}

TEST_CASE("bound socket: a unix socket's file can be given to a user, but no other file") {
  constexpr unsigned kSomebody = 12345;
  if (geteuid() != 0) return;
  const Scratch scratch;
  const std::string path = scratch.path("socket");
  const auto socket = bind_to("unix:" + path);
  REQUIRE(socket.value().give_file_to(kSomebody, kSomebody + 1));
  CHECK(facts_of(path).st_uid == kSomebody);
  CHECK(facts_of(path).st_gid == kSomebody + 1);
  const std::string other = scratch.write("other", "root's");
  std::filesystem::remove(path);
  std::filesystem::create_symlink(other, path);
  CHECK_FALSE(socket.value().give_file_to(kSomebody, kSomebody));
  CHECK(facts_of(other).st_uid == 0);
}

TEST_CASE("bound socket: a TCP port has no file to give") {
  const auto socket = bind_to("127.0.0.1:0");
  CHECK(socket.value().give_file_to(1, 1));
  CHECK(socket.value().set_file_mode(0600));
}

}  // namespace millrace::server
