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

Server::Options strict() {
  Server::Options options = RunningServer::default_options();
  options.config.is_fetch_strict = true;
  return options;
}

/// A server whose disk is the test.
struct SlowHost {
  explicit SlowHost(Server::Options options = RunningServer::default_options())
      : SlowHost(std::move(options), std::make_unique<FakeJournal>()) {}
  SlowHost(Server::Options options, std::unique_ptr<FakeJournal> journal)
      : disk(*journal), running({.options = std::move(options), .journal = std::move(journal)}) {}

  /// A client has sent what gets no answer before the disk has stored it.
  [[nodiscard]] bool is_silent_to(SocketClient& client) {
    running.settle_turns();
    return client.read_available().empty();
  }

  void store() {
    running.settle_turns();
    disk.make_durable(disk.end());
  }

  FakeJournal& disk;
  RunningServer running;
};

}  // namespace

TEST_CASE("fetch: whose client breaks off before the reply could leave, the job is there again") {
  SlowHost slow(strict());
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

TEST_CASE("fetch: a job that is on the disk is handed out before its reservation is") {
  SlowHost slow;
  SocketClient client = join(slow.running);
  client.send(kPush);
  slow.store();
  CHECK(client.read(5) == "+OK\r\n");
  const Lsn before = slow.disk.end();
  client.send("FETCH default\r\n");
  CHECK(client.read(1) == "$");
  CHECK(slow.disk.end() > before);
  CHECK(slow.disk.durable() == before);
}

TEST_CASE("fetch: a strict server hands a job out when its reservation is on the disk") {
  SlowHost slow(strict());
  SocketClient client = join(slow.running);
  client.send(kPush);
  slow.store();
  CHECK(client.read(5) == "+OK\r\n");
  client.send("FETCH default\r\n");
  CHECK(slow.is_silent_to(client));
  slow.store();
  CHECK(client.read(1) == "$");
}

TEST_CASE("fetch: a job that is not on the disk yet is not handed out") {
  SlowHost slow;
  SocketClient producer = join(slow.running);
  SocketClient worker = join(slow.running);
  producer.send(kPush);
  slow.running.settle_turns();
  const Lsn job_end = slow.disk.end();
  worker.send("FETCH default\r\n");
  CHECK(slow.is_silent_to(worker));
  slow.disk.make_durable(job_end);
  CHECK(worker.read(1) == "$");
  CHECK(slow.disk.durable() < slow.disk.end());
}

TEST_CASE("fetch: an ACK waits for itself, and so for the reservation") {
  SlowHost slow;
  SocketClient client = join(slow.running);
  client.send(kPush);
  slow.store();
  CHECK(client.read(5) == "+OK\r\n");
  client.send("FETCH default\r\n");
  CHECK(client.read_some().starts_with("$"));
  client.send("ACK {\"jid\":\"12345678\"}\r\n");
  CHECK(slow.is_silent_to(client));
  slow.store();
  CHECK(client.read(5) == "+OK\r\n");
}

TEST_CASE("fetch: that no job came is told at once, and what counts jobs is not") {
  SlowHost slow;
  SocketClient producer = join(slow.running);
  SocketClient other = slow.running.connect("beanstalk");
  producer.send(kPush);
  slow.running.settle_turns();
  other.send("watch empty\r\nignore default\r\n");
  slow.store();
  CHECK(other.read(24) == "WATCHING 2\r\nWATCHING 1\r\n");
  CHECK(producer.read(5) == "+OK\r\n");
  producer.send("PUSH {\"jid\":\"87654321\",\"jobtype\":\"T\",\"args\":[]}\r\n");
  slow.running.settle_turns();
  other.send("reserve-with-timeout 0\r\n");
  CHECK(other.read(11) == "TIMED_OUT\r\n");
  other.send("list-tube-used\r\n");
  CHECK(slow.is_silent_to(other));
}

TEST_CASE("fetch: a released job is handed out when its release is on the disk") {
  SlowHost slow;
  SocketClient first = slow.running.connect("beanstalk");
  SocketClient second = slow.running.connect("beanstalk");
  first.send("put 0 0 60 1\r\nx\r\n");
  slow.store();
  CHECK(first.read(12) == "INSERTED 1\r\n");
  first.send("reserve\r\n");
  CHECK(first.read(17) == "RESERVED 1 1\r\nx\r\n");
  first.send("release 1 7 0\r\n");
  slow.running.settle_turns();
  second.send("reserve\r\n");
  CHECK(slow.is_silent_to(second));
  slow.store();
  CHECK(second.read(17) == "RESERVED 1 1\r\nx\r\n");
}

TEST_CASE("fetch: a job that was asked for by its id waits as any other") {
  SlowHost slow;
  SocketClient client = slow.running.connect("beanstalk");
  client.send("put 0 60 60 1\r\nx\r\n");
  slow.store();
  CHECK(client.read(12) == "INSERTED 1\r\n");
  SocketClient producer = join(slow.running);
  producer.send(kPush);
  slow.running.settle_turns();
  client.send("reserve-job 1\r\n");
  CHECK(client.read(17) == "RESERVED 1 1\r\nx\r\n");
  client.send("reserve-job 9\r\n");
  CHECK(slow.is_silent_to(client));
}

TEST_CASE("fetch: a command before it on the connection is answered before it") {
  SlowHost slow;
  SocketClient client = join(slow.running);
  client.send(kPush);
  slow.store();
  CHECK(client.read(5) == "+OK\r\n");
  client.send(std::string(kPush) + "FETCH default\r\n");
  CHECK(slow.is_silent_to(client));
  slow.store();
  CHECK(client.read(6) == "+OK\r\n$");
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
