#include "server/net/listener.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "server/running_server.hpp"
#include "support/doctest.hpp"
#include "support/scratch.hpp"

namespace millrace::server {
namespace {

struct Opening {
  faktory::WorkUnits format;
  Ledger ledger;
  Broker broker{ledger, format, {}};
  Poller poller;
  Ticker ticker{broker};
  ManualClock clock;
  std::string logged;
  Log log{[this](std::string_view line) { logged += line; }};

  Outcome<std::unique_ptr<Listener>> bind(const Address& address) {
    auto socket = BoundSocket::bind(address, log);
    if (!socket) return socket.error();
    const Listener::Parts parts{.poller = poller, .ticker = ticker, .clock = clock, .log = log};
    return std::make_unique<Listener>(std::move(*socket), parts);
  }
};

BoundSocket bind_local(std::uint16_t port) {
  const Log log([](std::string_view) {});
  return std::move(*BoundSocket::bind({.host = "127.0.0.1", .port = port}, log));
}

bool can_connect(const Address& address) {
  const int client = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in name{.sin_family = AF_INET,
                   .sin_port = htons(address.port),
                   .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)},
                   .sin_zero = {}};
  const bool can = ::connect(client, reinterpret_cast<sockaddr*>(&name), sizeof name) == 0;
  ::close(client);
  return can;
}

bool exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

/// Leaves a socket file on which nobody answers, as a killed server does.
void leave_stale_socket(const std::string& path) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.c_str(), path.size() + 1);
  REQUIRE(::bind(socket, reinterpret_cast<sockaddr*>(&name), sizeof name) == 0);
  ::close(socket);
}

/// Leaves this process only so many free descriptors.
class FewDescriptors {
 public:
  explicit FewDescriptors(std::size_t free) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit low{.rlim_cur = 256, .rlim_max = before_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &low) == 0);
    for (int filler = dup(0); filler >= 0; filler = dup(0)) fillers_.push_back(filler);
    REQUIRE(fillers_.size() > free);
    for (; free > 0; --free) close_one();
  }
  ~FewDescriptors() {
    while (!fillers_.empty()) close_one();
    setrlimit(RLIMIT_NOFILE, &before_);
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  void close_one() {
    ::close(fillers_.back());
    fillers_.pop_back();
  }

  rlimit before_{};
  std::vector<int> fillers_;
};

TEST_CASE("listener: port 0 becomes the port that the system chose") {
  Opening opening;
  const auto listener = opening.bind({.host = "127.0.0.1", .port = 0});
  REQUIRE(listener);
  CHECK((*listener.value()).address().port != 0);
}

TEST_CASE("listener: what lies beyond this machine is told apart") {
  Opening opening;
  CHECK_FALSE(BoundSocket::bind({.port = 0}, opening.log).value().is_local());
  CHECK_FALSE(BoundSocket::bind({.host = "0.0.0.0", .port = 0}, opening.log).value().is_local());
  CHECK(BoundSocket::bind({.host = "localhost", .port = 0}, opening.log).value().is_local());
  CHECK(BoundSocket::bind({.host = "127.0.0.9", .port = 0}, opening.log).value().is_local());
}

TEST_CASE("listener: a taken port is refused with the address and the reason") {
  Opening opening;
  const auto first = opening.bind({.host = "127.0.0.1", .port = 0});
  REQUIRE(first.value()->listen([](Listener::Accepted) {}));
  const Address taken = first.value()->address();
  CHECK(opening.bind(taken).error().text ==
        "cannot listen on " + taken.text() + ": Address already in use");
}

TEST_CASE("listener: a name that does not exist is refused") {
  Opening opening;
  CHECK_FALSE(opening.bind({.host = "no such host", .port = 1}));
}

TEST_CASE("listener: a unix socket's file is there while it is open, and then gone") {
  const Scratch scratch;
  Opening opening;
  const std::string path = scratch.path("socket");
  {
    const auto listener = opening.bind({.path = path});
    REQUIRE(listener);
    CHECK(exists(path));
  }
  CHECK_FALSE(exists(path));
}

TEST_CASE("listener: a stale socket file is replaced") {
  const Scratch scratch;
  Opening opening;
  leave_stale_socket(scratch.path("socket"));
  CHECK(opening.bind({.path = scratch.path("socket")}));
  CHECK(opening.logged.find("stale_socket_replaced") != std::string::npos);
}

TEST_CASE("listener: a socket file on which somebody answers is left alone") {
  const Scratch scratch;
  Opening opening;
  const Address address{.path = scratch.path("socket")};
  const auto first = opening.bind(address);
  REQUIRE(first.value()->listen([](Listener::Accepted) {}));
  CHECK(opening.bind(address).error().text ==
        "cannot listen on " + address.text() + ": another server answers there");
  CHECK(exists(address.path));
}

TEST_CASE("listener: a file that is no socket is left alone") {
  const Scratch scratch;
  Opening opening;
  const std::string path = scratch.write("precious", "data");
  CHECK(opening.bind({.path = path}).error().text.find("not a socket") != std::string::npos);
  CHECK(exists(path));
}

TEST_CASE("listener: a socket file that somebody else has put there since is left alone") {
  const Scratch scratch;
  Opening opening;
  const std::string path = scratch.path("socket");
  {
    const auto listener = opening.bind({.path = path});
    REQUIRE(unlink(path.c_str()) == 0);
    scratch.write("socket", "somebody else's");
  }
  CHECK(exists(path));
}

TEST_CASE("listener: clients come through a unix socket") {
  const Scratch scratch;
  RunningServer::Setup setup;
  setup.options.config.beanstalk = Address{.path = scratch.path("socket")};
  RunningServer running(std::move(setup));
  SocketClient client = running.connect("beanstalk");
  CHECK(client.ask("use a\r\n", "USING a\r\n") == "USING a\r\n");
  running.stop();
  CHECK_FALSE(exists(scratch.path("socket")));
}

TEST_CASE("listener: out of descriptors, clients wait, and are served when there is room again") {
  RunningServer running;
  std::vector<SocketClient> clients;
  {
    // Each client takes two: one here and one in the server.
    const FewDescriptors few(5);
    for (int i = 0; i < 2; ++i) clients.push_back(running.connect("beanstalk"));
    CHECK(clients[1].ask("use a\r\n", "USING a\r\n") == "USING a\r\n");
    clients.push_back(running.connect("beanstalk"));
    clients[2].send("use c\r\n");
    running.settle();
    CHECK(running.connection_count() == 2);
    CHECK(clients[0].ask("use a\r\n", "USING a\r\n") == "USING a\r\n");
  }
  running.advance(kAcceptPause);
  CHECK(clients[2].read(9) == "USING c\r\n");
  running.stop();
  CHECK(running.logged().find("accept_failed") != std::string::npos);
}

}  // namespace
TEST_CASE("bound socket: clients can connect until the last duplicate is closed") {
  std::optional<BoundSocket> first(bind_local(0));
  std::optional<BoundSocket> second(std::move(*first->duplicate()));
  const Address address = first->address();
  CHECK(second->address().port == address.port);
  REQUIRE(::listen(second->descriptor(), 8) == 0);
  second.reset();
  CHECK(can_connect(address));
  first.reset();
  CHECK_FALSE(can_connect(address));
}

TEST_CASE("bound socket: clients can be refused until somebody listens again") {
  std::optional<BoundSocket> socket(bind_local(0));
  const Address address = socket->address();
  socket.reset();
  // Of an address that the system chose it may choose another one.
  socket.emplace(bind_local(address.port));
  REQUIRE(::listen(socket->descriptor(), 8) == 0);
  CHECK(can_connect(address));
  socket->refuse_clients();
  CHECK_FALSE(can_connect(address));
  REQUIRE(::listen(socket->descriptor(), 8) == 0);
  CHECK(can_connect(address));
}

TEST_CASE("bound socket: the file of a unix socket stays with the one that made it") {
  const Scratch scratch;
  const std::string path = scratch.path("socket");
  const Log log([](std::string_view) {});
  std::optional<BoundSocket> first(
      std::move(*BoundSocket::bind({.host = {}, .port = 0, .path = path}, log)));
  { const auto second = first->duplicate(); }
  CHECK(exists(path));
  first.reset();
  CHECK_FALSE(exists(path));
}

}  // namespace millrace::server
