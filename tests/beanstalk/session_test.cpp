#include "core/ports/session.hpp"

#include <string>

#include "beanstalk/session.hpp"
#include "support/doctest.hpp"
#include "support/in_memory_server.hpp"

namespace millrace::test {
namespace {

/// A server in memory with two beanstalk connections, `a` and `b`.
class TwoClients {
 public:
  explicit TwoClients(InMemoryServer::Options options = {}) : server(std::move(options)) {
    server.connect("a", Protocol::kBeanstalk);
    server.connect("b", Protocol::kBeanstalk);
  }

  std::string a(std::string_view bytes) { return server.ask("a", bytes); }
  std::string b(std::string_view bytes) { return server.ask("b", bytes); }

  void put_jobs(int count, std::string_view put) {
    for (int i = 0; i < count; ++i) server.send("b", put);
    server.take_output("b");
  }

  InMemoryServer server;
};

std::string repeated(std::string_view text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

/// A session driven by hand, with a broker of its own.
class LoneSession {
 public:
  LoneSession() { session->start(now); }
  ~LoneSession() { session->close(now); }

  /// Sends, and lets it do all that it can.
  void tell(std::string_view bytes) {
    session->receive(bytes, now);
    while (session->wants_resume()) session->resume(now);
  }

  /// t1, t2, ...
  void watch(std::size_t count) {
    for (std::size_t i = 1; i <= count; ++i) {
      tell("watch t" + std::to_string(i) + "\r\n");
      (void)session->take_output();
    }
  }

  Time now{1000s};
  faktory::WorkUnits format;
  Ledger ledger;
  Broker broker{ledger, format, {}};
  beanstalk::Service service{broker, format, {}, now};
  std::unique_ptr<Session> session = service.open(access::Caller::everybody());
};

}  // namespace

TEST_CASE("session: wants no more input once enough waits after a reserve") {
  LoneSession lone;
  lone.session->receive("reserve\r\n", lone.now);
  CHECK(lone.session->wants_input());
  lone.session->receive(std::string(kPipelinedBytesMax - 1, 'x'), lone.now);
  CHECK(lone.session->wants_input());
  lone.session->receive("x", lone.now);
  CHECK(!lone.session->wants_input());
  CHECK(!lone.session->wants_resume());
}

TEST_CASE("session: wants the rest of a job, however large") {
  LoneSession lone;
  lone.session->receive("put 0 0 1 65535\r\n", lone.now);
  lone.session->receive(std::string(65534, 'x'), lone.now);
  CHECK(lone.session->wants_input());
  lone.session->receive("x\r\n", lone.now);
  CHECK(lone.session->output() == "INSERTED 1\r\n");
}

TEST_CASE("session: leaves input alone while its output is not taken") {
  LoneSession lone;
  lone.session->receive("put 0 0 1 60000\r\n" + std::string(60000, 'x') + "\r\n", lone.now);
  lone.session->receive(repeated("peek 1\r\n", 100), lone.now);
  CHECK(lone.session->output().size() < kOutputBytesPause + 70000);
  CHECK(!lone.session->wants_resume());
  (void)lone.session->take_output();
  CHECK(lone.session->wants_resume());
}

TEST_CASE("session: everything is answered when output is taken bit by bit") {
  TwoClients clients;
  clients.a("put 0 0 1 60000\r\n" + std::string(60000, 'x') + "\r\n");
  clients.server.hold_output("a", true);
  clients.server.send("a", repeated("peek 1\r\n", 100) + "quit\r\n");
  CHECK(clients.server.is_open("a"));
  clients.server.hold_output("a", false);
  CHECK(clients.server.take_output("a").size() == 100 * (sizeof "FOUND 1 60000\r\n" + 1 + 60000));
  CHECK(!clients.server.is_open("a"));
}

TEST_CASE("session: a half-closed client gets all replies before the end") {
  TwoClients clients;
  clients.a("put 0 0 1 60000\r\n" + std::string(60000, 'x') + "\r\n");
  clients.server.hold_output("a", true);
  clients.server.send("a", repeated("peek 1\r\n", 50));
  clients.server.half_close("a");
  CHECK(clients.server.is_open("a"));
  clients.server.hold_output("a", false);
  CHECK(clients.server.take_output("a").size() == 50 * (sizeof "FOUND 1 60000\r\n" + 1 + 60000));
  CHECK(!clients.server.is_open("a"));
}

TEST_CASE("session: a kick of more than one slice is answered when it is through") {
  TwoClients clients;
  int count = static_cast<int>(kSliceChanges) * 2 + 1;
  clients.put_jobs(count, "put 0 100 1 0\r\n\r\n");
  CHECK(clients.a("kick 100000\r\nlist-tube-used\r\n") ==
        "KICKED " + std::to_string(count) + "\r\nUSING default\r\n");
}

TEST_CASE("session: a half-closed client still learns how many were kicked") {
  LoneSession lone;
  lone.session->receive(repeated("put 0 100 1 0\r\n\r\n", kSliceChanges + 1), lone.now);
  (void)lone.session->take_output();
  lone.session->receive("kick 100000\r\nlist-tube-used\r\n", lone.now);
  lone.session->end_of_input(lone.now);
  CHECK(!lone.session->wants_close());
  lone.broker.tick(lone.now);
  lone.session->resume(lone.now);
  CHECK(lone.session->output() ==
        "KICKED " + std::to_string(kSliceChanges + 1) + "\r\nUSING default\r\n");
  CHECK(lone.session->wants_close());
}

TEST_CASE("session: the bytes after quit are dropped") {
  LoneSession lone;
  lone.session->receive("quit\r\nput 0 0 1 1\r\n", lone.now);
  lone.session->receive("x\r\n", lone.now);
  CHECK(lone.session->wants_close());
  CHECK(!lone.session->wants_input());
  CHECK(lone.session->output().empty());
}

TEST_CASE("session: a client that closes in the middle of a body leaves nothing") {
  TwoClients clients;
  clients.a("put 0 0 1 10\r\nabc");
  clients.server.close("a");
  CHECK(clients.b("peek-ready\r\n") == "NOT_FOUND\r\n");
  CHECK(clients.b("put 0 0 1 1\r\nx\r\n") == "INSERTED 1\r\n");
}

TEST_CASE("session: a large body in small pieces is stored whole") {
  TwoClients clients;
  std::string body;
  for (int i = 0; i < 6000; ++i) body += std::to_string(i) + "\r\n";
  std::string put = "put 0 0 1 " + std::to_string(body.size()) + "\r\n" + body + "\r\n";
  clients.server.send("a", put, 7);
  CHECK(clients.server.take_output("a") == "INSERTED 1\r\n");
  CHECK(clients.b("peek 1\r\n") ==
        "FOUND 1 " + std::to_string(body.size()) + "\r\n" + body + "\r\n");
}

TEST_CASE("session: the connection's roles end with it") {
  TwoClients clients;
  clients.a("put 0 0 1 1\r\nx\r\nreserve\r\n");
  clients.server.close("a");
  std::string stats = clients.b("stats\r\n");
  CHECK(stats.find("\ncurrent-connections: 1\n") != std::string::npos);
  CHECK(stats.find("\ncurrent-producers: 0\n") != std::string::npos);
  CHECK(stats.find("\ncurrent-workers: 0\n") != std::string::npos);
  CHECK(stats.find("\ntotal-connections: 2\n") != std::string::npos);
}

TEST_CASE("session: a put whose end of line is missing makes a producer all the same") {
  TwoClients clients;
  clients.a("put 0 0 1 1\r\nabc");
  CHECK(clients.b("stats\r\n").find("\ncurrent-producers: 1\n") != std::string::npos);
}

// ---- many tubes ---------------------------------------------------------------------------------

TEST_CASE("session: one tube more than a client may watch is refused, and the client stays") {
  LoneSession lone;
  lone.watch(kWatchedQueuesMax - 1);
  lone.tell("watch more\r\nwatch t1\r\n");
  CHECK(lone.session->output() == "OUT_OF_MEMORY\r\nWATCHING 10000\r\n");
}

TEST_CASE("session: costly commands in a row go on in later turns") {
  LoneSession lone;
  lone.watch(kWatchedQueuesMax - 1);
  lone.session->receive(repeated("reserve-with-timeout 0\r\n", 20), lone.now);
  CHECK(lone.session->output().size() < repeated("TIMED_OUT\r\n", 5).size());
  CHECK(lone.session->wants_resume());
  const std::string before = lone.session->output();
  lone.session->resume(lone.now);
  CHECK(lone.session->output().size() > before.size());
  lone.tell("");
  CHECK(lone.session->output() == repeated("TIMED_OUT\r\n", 20));
}

TEST_CASE("session: a long list of tubes is sent in slices, and then the replies after it") {
  LoneSession lone;
  lone.watch(kSliceQueues);
  lone.session->receive("list-tubes\r\nuse x\r\n", lone.now);
  CHECK(lone.session->output().empty());
  CHECK(lone.session->wants_resume());
  lone.session->end_of_input(lone.now);
  std::string output;
  while (lone.session->wants_resume()) {
    lone.session->resume(lone.now);
    output += lone.session->take_output();
  }
  CHECK(output.starts_with("OK "));
  CHECK(output.find("\n- default\n- t1\n- t2\n") != std::string::npos);
  CHECK(output.ends_with("- t" + std::to_string(kSliceQueues) + "\n\r\nUSING x\r\n"));
  CHECK(lone.session->wants_close());
}

}  // namespace millrace::test
