#include <optional>

#include "server/net/bound_socket.hpp"
#include "server/relay/name_lookup.hpp"
#include "server/relay/relay.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

const Log kNoLog{[](std::string_view) {}};

/// A server with one port, on the address of that number.
struct Listening {
  explicit Listening(const std::string& host)
      : socket(BoundSocket::bind({.host = host, .port = 0, .path = {}}, kNoLog)) {
    REQUIRE(socket);
    own.add("web", socket->descriptor());
  }
  /// Whether a leader may be at this address, and the port of this server or another one.
  bool may_reach(const std::string& host, int more = 0, const char* port = "web") {
    const auto number = static_cast<std::uint16_t>(socket->address().port + more);
    Poller poller;
    NameLookup lookup(poller);
    lookup.begin({.host = host, .port = number, .path = {}});
    REQUIRE(lookup.state() == NameLookup::State::kFound);
    return own.may_reach(port, lookup.name());
  }

  Outcome<BoundSocket> socket;
  OwnPorts own;
};

constexpr const char* kLoopbacks[] = {"127.0.0.1",        "127.0.1.1", "127.9.9.9", "::1",
                                      "::ffff:127.0.0.1", "0.0.0.0",   "::"};

}  // namespace

TEST_CASE("own ports: from an open port nothing leads to loopback, whatever listens there") {
  for (const char* host : {"0.0.0.0", "::"}) {
    Listening server(host);
    for (const char* loopback : kLoopbacks) {
      CHECK_FALSE_MESSAGE(server.may_reach(loopback), host << " " << loopback);
      CHECK_FALSE_MESSAGE(server.may_reach(loopback, 1), host << " " << loopback);
    }
    CHECK(server.may_reach("192.0.2.1"));
    CHECK(server.may_reach("2001:db8::1"));
  }
}

TEST_CASE("own ports: from loopback another port there can be reached, and the own one cannot") {
  Listening server("127.0.0.1");
  for (const char* own : {"127.0.0.1", "::ffff:127.0.0.1", "0.0.0.0"}) {
    CHECK_FALSE_MESSAGE(server.may_reach(own), own);
  }
  for (const char* loopback : kLoopbacks) CHECK_MESSAGE(server.may_reach(loopback, 1), loopback);
  CHECK(server.may_reach("127.0.1.1"));
  CHECK(server.may_reach("192.0.2.1"));
}

TEST_CASE("own ports: a port that this server does not have counts as its most open one") {
  Listening local("127.0.0.1");
  CHECK(local.may_reach("127.0.0.1", 1, "faktory"));
  Listening open("0.0.0.0");
  CHECK_FALSE(open.may_reach("127.0.0.1", 1, "faktory"));
}

TEST_CASE("own ports: one port's own address is no way for another port either") {
  Listening server("127.0.0.1");
  const auto second = BoundSocket::bind({.host = "127.0.0.1", .port = 0, .path = {}}, kNoLog);
  REQUIRE(second);
  server.own.add("beanstalk", second->descriptor());
  CHECK_FALSE(server.may_reach("127.0.0.1", 0, "beanstalk"));
}

TEST_CASE("own ports: a unix socket is as closed to other machines as loopback") {
  int both[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, both) == 0);
  Listening server("0.0.0.0");
  server.own.add("beanstalk", both[0]);
  CHECK(server.may_reach("127.0.0.1", 1, "beanstalk"));
  CHECK_FALSE(server.may_reach("127.0.0.1", 0, "beanstalk"));
  ::close(both[0]);
  ::close(both[1]);
}

}  // namespace millrace::server
