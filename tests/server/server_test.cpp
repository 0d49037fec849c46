#include "server/server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/running_server.hpp"
#include "support/doctest.hpp"
#include "support/scratch.hpp"

namespace millrace::server {
namespace {

/// What the tests of ports set.
struct Ports {
  std::optional<Address> beanstalk;
  std::optional<Address> faktory;
  std::optional<Address> web;
  std::string password;
  OpenPorts insecure = {};
};

Server::Options with(Ports ports) {
  Server::Options options = RunningServer::default_options();
  options.config.beanstalk = std::move(ports.beanstalk);
  options.config.faktory = std::move(ports.faktory);
  options.config.web = std::move(ports.web);
  options.config.insecure = ports.insecure;
  options.secrets.password = std::move(ports.password);
  return options;
}

/// A server that is opened and not run.
struct Opened {
  ManualClock clock;
  Log log{[](std::string_view) {}};
  Server server;
  Outcome<Done> outcome;

  explicit Opened(Ports ports, std::unique_ptr<FakeJournal> journal = nullptr)
      : server(with(std::move(ports)),
               journal ? std::move(journal) : std::make_unique<FakeJournal>(), clock, log),
        outcome(server.open()) {}
};

Address loopback(std::uint16_t port) {
  return {.host = "127.0.0.1", .port = port};
}

TEST_CASE("server: a taken port is refused, whichever protocol it is for") {
  RunningServer running;
  const Address taken = running.address("faktory");
  const std::string expected =
      " port: cannot listen on " + taken.text() + ": Address already in use";
  CHECK(Opened({.beanstalk = taken}).outcome.error().text == "the beanstalk" + expected);
  CHECK(Opened({.faktory = taken}).outcome.error().text == "the faktory" + expected);
  CHECK(Opened({.web = taken}).outcome.error().text == "the web" + expected);
}

TEST_CASE("server: one that another server has deposed answers nothing more, and ends") {
  auto owned = std::make_unique<FakeJournal>();
  FakeJournal& journal = *owned;
  RunningServer running({.journal = std::move(owned)});
  SocketClient client = running.connect("beanstalk");
  client.send("put 0 0 60 1\r\nx\r\n");
  running.settle_turns();
  REQUIRE(journal.batch_count() == 1);
  journal.leader = Epoch{2};
  journal.make_durable(journal.end());
  CHECK(client.is_closed_by_server());
  CHECK(client.read_available().empty());
  running.stop();
  CHECK(running.logged().find("deposed") != std::string::npos);
  CHECK(journal.batch_count() == 1);
}

TEST_CASE("server: of two ports at one address the second is refused") {
  const Log log{[](std::string_view) {}};
  const Address own = BoundSocket::bind(loopback(0), log).value().address();
  CHECK(Opened({.faktory = own, .web = own}).outcome.error().text ==
        "the web port: cannot listen on " + own.text() + ": Address already in use");
}

TEST_CASE("server: a protocol that is off has no port") {
  const Opened opened({.faktory = loopback(0)});
  REQUIRE(opened.outcome);
  REQUIRE(opened.server.ports().size() == 1);
  CHECK(opened.server.ports().front().name == std::string("faktory"));
}

TEST_CASE("server: ports open to other machines need a password or --insecure") {
  const Address all{.port = 0};
  CHECK_FALSE(Opened({.faktory = Address{.host = "::", .port = 0}}).outcome);
  CHECK_FALSE(Opened({.faktory = Address{.host = "0.0.0.0", .port = 0}}).outcome);
  CHECK(Opened({.beanstalk = all}).outcome.error().text.find("--insecure") != std::string::npos);
  CHECK_FALSE(Opened({.faktory = all}).outcome);
  CHECK(Opened({.faktory = all, .password = "secret"}).outcome);
  CHECK_FALSE(Opened({.beanstalk = all, .password = "secret"}).outcome);
  const OpenPorts two{.beanstalk = true, .faktory = true};
  CHECK(Opened({.beanstalk = all, .faktory = all, .insecure = two}).outcome);
  CHECK_FALSE(Opened({.beanstalk = all, .faktory = all, .insecure = {.beanstalk = true}}).outcome);
  // That beanstalk has no password opens no port that could have one.
  const auto problem = [](Ports ports) { return Opened(std::move(ports)).outcome.error().text; };
  CHECK(problem({.beanstalk = all, .web = all, .insecure = two}) ==
        "refusing to open the web port: other machines could connect without a password; set one "
        "for faktory and web (FAKTORY_PASSWORD), or allow it with --insecure=beanstalk,web");
  CHECK(problem({.beanstalk = all, .password = "secret"}) ==
        "refusing to open the beanstalk port: other machines could connect without a password; "
        "allow it with --insecure=beanstalk");
  CHECK(problem({.beanstalk = all, .faktory = all}).find("the beanstalk port, the faktory port:") !=
        std::string::npos);
}

TEST_CASE("server: what the journal holds is there when the first client comes") {
  auto journal = std::make_unique<FakeJournal>();
  {
    faktory::WorkUnits format;
    Ledger ledger;
    Broker broker(ledger, format, {});
    REQUIRE(broker.put({.queue = "old", .body = "job"}, Time{1s}));
    journal->to_replay.push_back(ledger.take_batch());
  }
  RunningServer running({.journal = std::move(journal)});
  SocketClient client = running.connect("beanstalk");
  const std::string expected = "FOUND 1 3\r\njob\r\n";
  CHECK(client.ask("peek 1\r\n", expected) == expected);
}

namespace {

/// Each look at it takes 650 ms.
class SlowClock final : public Clock {
 public:
  Time now() override { return now_ += 650ms; }

 private:
  Time now_ = Time{1'700'000'000s};
};

/// Whether somebody listens there.
bool is_answered(const Address& address) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(address.port);
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool is_answered = ::connect(socket, reinterpret_cast<sockaddr*>(&name), sizeof name) == 0;
  ::close(socket);
  return is_answered;
}

}  // namespace

TEST_CASE("server: while the journal is read it says how far it is, and no port is open") {
  auto journal = std::make_unique<FakeJournal>();
  faktory::WorkUnits format;
  Ledger ledger;
  Broker broker(ledger, format, {});
  for (int i = 0; i < 4; ++i) {
    REQUIRE(broker.put({.queue = "old", .body = "job"}, Time{1s}));
    journal->to_replay.push_back(ledger.take_batch());
  }
  const Server::Options options =
      with({.beanstalk = loopback(0), .faktory = loopback(0), .web = loopback(0)});
  std::string logged;
  const Log log([&](std::string_view line) { logged += line; });
  auto sockets = Server::bind(options, {}, log);
  REQUIRE(sockets);
  const std::vector<Address> addresses = {sockets->beanstalk->address(),
                                          sockets->faktory->address(), sockets->web->address()};
  const auto answered = [&] {
    return std::count_if(addresses.begin(), addresses.end(), is_answered);
  };
  SlowClock clock;
  std::ptrdiff_t early = 0;
  journal->before_batch = [&] { early += answered(); };
  Server server(options, std::move(journal), clock, log);
  REQUIRE(server.open(std::move(*sockets)));
  CHECK(early == 0);
  CHECK(answered() == 3);
  CHECK(logged.find(" replaying percent=25 jobs=1 seconds=1.3\n") != std::string::npos);
  CHECK(logged.find(" replaying percent=75 jobs=3 seconds=2.6\n") != std::string::npos);
  CHECK(logged.find(" replayed bytes=") != std::string::npos);
  CHECK(std::count(logged.begin(), logged.end(), '\n') == 3);
}

TEST_CASE("server: a journal that makes no sense stops the start") {
  auto journal = std::make_unique<FakeJournal>();
  journal->to_replay.push_back("\xff\xff\xff");
  CHECK_FALSE(Opened({.beanstalk = loopback(0)}, std::move(journal)).outcome);
}

TEST_CASE("server: stops at once when nobody is connected, with everything on the disk") {
  auto owned = std::make_unique<FakeJournal>();
  FakeJournal& journal = *owned;
  RunningServer running({.journal = std::move(owned)});
  running.stop();
  CHECK(journal.sync_count == 1);
}

TEST_CASE("server: stopping answers what is in flight and refuses new work") {
  auto owned = std::make_unique<FakeJournal>();
  FakeJournal& disk = *owned;
  RunningServer running({.journal = std::move(owned)});
  SocketClient client = running.connect("beanstalk");
  client.send("put 0 0 60 1\r\nx\r\n");
  while (disk.end() == 0) running.settle_turns();
  running.on_loop([&] { running.server().stop(); });
  client.send("put 0 0 60 1\r\ny\r\n");
  running.settle_turns();
  CHECK(client.read_available().empty());
  disk.make_durable(disk.end());
  CHECK(client.read(22) == "INSERTED 1\r\nDRAINING\r\n");
  running.advance(kStopGrace);
  CHECK(client.is_closed_by_server());
}

TEST_CASE("server: stopping tells clients that wait for work that none comes") {
  RunningServer running;
  SocketClient client = running.connect("beanstalk");
  client.send("reserve\r\n");
  running.settle();
  running.stop();
  CHECK(client.read(11) == "TIMED_OUT\r\n");
  CHECK(client.is_closed_by_server());
}

TEST_CASE("server: stopping again closes clients that still wait for replies") {
  auto owned = std::make_unique<FakeJournal>();
  FakeJournal& disk = *owned;
  RunningServer running({.journal = std::move(owned)});
  SocketClient client = running.connect("beanstalk");
  client.send("put 0 0 60 1\r\nx\r\n");
  while (disk.end() == 0) running.settle_turns();
  running.on_loop([&] { running.server().stop(); });
  running.stop();
  CHECK(client.is_closed_by_server());
  CHECK(client.read_available().empty());
}

TEST_CASE("server: while stopping nobody else is let in") {
  auto owned = std::make_unique<FakeJournal>();
  FakeJournal& disk = *owned;
  RunningServer running({.journal = std::move(owned)});
  SocketClient client = running.connect("beanstalk");
  client.send("put 0 0 60 1\r\nx\r\n");
  while (disk.end() == 0) running.settle_turns();
  running.on_loop([&] { running.server().stop(); });
  Opened other({.beanstalk = running.address("beanstalk")});
  CHECK(other.outcome);
}

TEST_CASE("server: what a reload takes is in force, and the rest needs a restart") {
  RunningServer running;
  running.on_loop([&] {
    Server& server = running.server();
    Config wanted = server.options().config;
    wanted.description = "Faktory Enterprise";
    wanted.retries = {{.queue = "q", .delays = {.factor = 2}}};
    wanted.job_bytes_max = 3;
    wanted.user = "other";
    CHECK(server.reload(wanted, {.password = "secret", .tls = nullptr}) ==
          std::vector<std::string>{"user"});
    const Server::Options& options = server.options();
    CHECK(options.config.description == wanted.description);
    CHECK(options.config.retries.size() == 1);
    CHECK(options.config.user.empty());
    CHECK(options.secrets.password == "secret");
    (void)server.reload(wanted, {});
    CHECK(options.secrets.password == "secret");
  });
  SocketClient client = running.connect("beanstalk");
  CHECK(client.ask("put 0 0 60 4\r\nlong\r\n", "JOB_TOO_BIG\r\n") == "JOB_TOO_BIG\r\n");
}

TEST_CASE("server: drain mode refuses puts, and nothing else") {
  RunningServer running;
  SocketClient client = running.connect("beanstalk");
  CHECK(client.ask("put 0 0 60 1\r\nx\r\n", "INSERTED 1\r\n") == "INSERTED 1\r\n");
  running.on_loop([&] { running.server().drain_beanstalk(); });
  CHECK(client.ask("put 0 0 60 1\r\nx\r\n", "DRAINING\r\n") == "DRAINING\r\n");
  CHECK(client.ask("delete 1\r\n", "DELETED\r\n") == "DELETED\r\n");
}

}  // namespace
}  // namespace millrace::server
