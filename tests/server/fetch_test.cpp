#include "server/fake_journal.hpp"
#include "server/running_server.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

constexpr std::string_view kHello = "HELLO {\"v\":2}\r\n";
constexpr std::string_view kPush = "PUSH {\"jid\":\"12345678\",\"jobtype\":\"T\",\"args\":[]}\r\n";

/// A client through the handshake.
SocketClient join(RunningServer& running) {
  SocketClient client = running.connect("faktory");
  const std::string expected = "+HI {\"v\":2}\r\n+OK\r\n";
  CHECK(client.ask(kHello, expected) == expected);
  return client;
}

/// A server whose disk is the test.
struct SlowHost {
  SlowHost() : SlowHost(std::make_unique<FakeJournal>()) {}
  explicit SlowHost(std::unique_ptr<FakeJournal> journal)
      : disk(*journal), running({.journal = std::move(journal)}) {}

  void store() {
    running.settle_turns();
    disk.make_durable(disk.end());
  }

  FakeJournal& disk;
  RunningServer running;
};

}  // namespace

TEST_CASE("fetch: whose client breaks off before the reply could leave, the job is there again") {
  SlowHost slow;
  SocketClient producer = join(slow.running);
  producer.send(kPush);
  slow.store();
  CHECK(producer.read(5) == "+OK\r\n");
  {
    SocketClient worker = join(slow.running);
    const Lsn before = slow.disk.end();
    worker.send("FETCH default\r\n");
    while (slow.disk.end() == before) slow.running.settle_turns();
    worker.reset();
  }
  slow.running.wait_for_connections(1);
  slow.store();
  producer.send("FETCH default\r\n");
  slow.store();
  CHECK(producer.read(1) == "$");
}

TEST_CASE("fetch: the reply comes in one piece, for clients that read once") {
  RunningServer running;
  SocketClient client = join(running);
  CHECK(client.ask(kPush, "+OK\r\n") == "+OK\r\n");
  client.send("FETCH default\r\n");
  const std::string reply = client.read_some();
  CHECK(reply.starts_with("$"));
  CHECK(reply.ends_with("}\r\n"));
}

TEST_CASE("fetch: whose reply has left, the job stays with its worker") {
  RunningServer running;
  SocketClient producer = join(running);
  CHECK(producer.ask(kPush, "+OK\r\n") == "+OK\r\n");
  {
    SocketClient worker = join(running);
    worker.send("FETCH default\r\n");
    CHECK(worker.read(1) == "$");
    running.settle();
    worker.reset();
  }
  running.wait_for_connections(1);
  producer.send("INFO\r\n");
  CHECK(producer.read(400).find("\"working\":1") != std::string::npos);
}

}  // namespace millrace::server
