#include "server/turn/commit_queue.hpp"

#include "faktory/job/work_unit.hpp"
#include "server/fake_journal.hpp"
#include "server/manual_clock.hpp"
#include "server/net/outbox.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// A session that only waits and keeps what is delivered to it.
class WaitingSession final : public Session {
 public:
  void start(Time) override {}
  void receive(std::string_view, Time) override {}
  void resume(Time) override {}
  void end_of_input(Time) override {}
  void deliver(const Delivery& delivery, Time) override {
    output_ += delivery.kind == Delivery::Kind::kJob ? "job " : "timeout ";
  }
  void close(Time) override {}
  void say(const std::string& reply) { output_ += reply; }
  [[nodiscard]] bool wants_input() const override { return true; }
  [[nodiscard]] bool wants_resume() const override { return false; }
  [[nodiscard]] bool wants_close() const override { return false; }
};

/// A client whose socket is a string.
class Client final : public Participant {
 public:
  explicit Client(Broker& broker) : id(broker.connect(session)) {}

  void resume(Time) override {}
  bool commit(Lsn lsn, Lsn durable) override {
    std::string output = session.take_output();
    outbox_.take(output, lsn);
    send(durable);
    return !outbox_.is_empty();
  }
  void send(Lsn durable) override {
    received += outbox_.covered(durable);
    outbox_.consume(outbox_.covered(durable).size());
  }

  WaitingSession session;
  ClientId id;
  std::string received;

 private:
  Outbox outbox_;
};

struct Commits {
  Loop loop;
  faktory::WorkUnits format;
  Ledger ledger;
  Broker broker{ledger, format, {}};
  FakeJournal journal;
  ManualClock clock;
  CommitQueue queue{
      {.loop = loop, .broker = broker, .ledger = ledger, .journal = journal, .clock = clock},
      [this](Time now) { broker.tick(now); }};
  Client a{broker};
  Client b{broker};

  Commits() {
    queue.introduce(a.session, a);
    queue.introduce(b.session, b);
  }

  void run() {
    loop.restart();
    loop.poll();
  }

  /// The client's command recorded something, and was answered.
  void put(Client& client, const std::string& reply) {
    REQUIRE(broker.put({.queue = "default", .body = "x"}, clock.now()));
    answer(client, reply);
  }

  void answer(Client& client, const std::string& reply) {
    client.session.say(reply);
    queue.enlist(client);
  }

  void make_durable(Lsn lsn) {
    journal.make_durable(lsn);
    run();
  }
};

TEST_CASE("commit queue: no reply leaves before its batch is durable") {
  Commits commits;
  commits.put(commits.a, "1 ");
  commits.run();
  REQUIRE(commits.journal.end() > 0);
  CHECK(commits.a.received.empty());
  commits.make_durable(commits.journal.end() - 1);
  CHECK(commits.a.received.empty());
  commits.make_durable(commits.journal.end());
  CHECK(commits.a.received == "1 ");
}

TEST_CASE("commit queue: what everybody did in a turn is one batch") {
  Commits commits;
  commits.put(commits.a, "1 ");
  commits.put(commits.b, "2 ");
  commits.put(commits.a, "3 ");
  commits.run();
  CHECK(commits.journal.batch_count() == 1);
  commits.make_durable(commits.journal.end());
  CHECK(commits.a.received == "1 3 ");
  CHECK(commits.b.received == "2 ");
}

TEST_CASE("commit queue: each turn is a batch of its own, and covers up to its own end") {
  Commits commits;
  commits.put(commits.a, "1 ");
  commits.run();
  const Lsn first_end = commits.journal.end();
  commits.put(commits.a, "2 ");
  commits.put(commits.b, "3 ");
  commits.run();
  CHECK(commits.journal.batch_count() == 2);
  commits.make_durable(first_end);
  CHECK(commits.a.received == "1 ");
  CHECK(commits.b.received.empty());
  commits.make_durable(commits.journal.end());
  CHECK(commits.a.received == "1 2 ");
  CHECK(commits.b.received == "3 ");
}

TEST_CASE("commit queue: a reply that recorded nothing waits for what was recorded before it") {
  Commits commits;
  commits.put(commits.a, "put ");
  commits.run();
  commits.answer(commits.b, "peek ");
  commits.run();
  CHECK(commits.journal.batch_count() == 1);
  CHECK(commits.b.received.empty());
  commits.make_durable(commits.journal.end());
  CHECK(commits.b.received == "peek ");
}

TEST_CASE("commit queue: while everything is durable, nobody waits") {
  Commits commits;
  commits.answer(commits.a, "nothing new ");
  commits.run();
  CHECK(commits.a.received == "nothing new ");
  CHECK(commits.queue.is_at_rest());
}

TEST_CASE("commit queue: a job reaches who waited for it only when its put is durable") {
  Commits commits;
  REQUIRE(commits.broker.watch(commits.b.id, "default"));
  REQUIRE_FALSE(commits.broker.reserve(commits.b.id, {}, commits.clock.now()));
  commits.put(commits.a, "1 ");
  commits.run();
  CHECK(commits.b.received.empty());
  commits.make_durable(commits.journal.end());
  CHECK(commits.b.received == "job ");
}

TEST_CASE("commit queue: what comes due in a turn is part of it") {
  Commits commits;
  const Time now = commits.clock.now();
  REQUIRE_FALSE(commits.broker.reserve(commits.b.id, {.wait_until = now + 1s}, now));
  commits.clock.set(now + 1s);
  commits.queue.schedule();
  commits.run();
  CHECK(commits.b.received == "timeout ");
}

TEST_CASE("commit queue: who left is not sent anything") {
  Commits commits;
  commits.put(commits.a, "1 ");
  commits.put(commits.b, "2 ");
  commits.run();
  commits.queue.forget(commits.a.session, commits.a);
  commits.make_durable(commits.journal.end());
  CHECK(commits.a.received.empty());
  CHECK(commits.b.received == "2 ");
}

TEST_CASE("commit queue: who leaves before the turn leaves the others in it") {
  Commits commits;
  commits.put(commits.a, "1 ");
  commits.put(commits.b, "2 ");
  commits.queue.forget(commits.a.session, commits.a);
  commits.run();
  commits.make_durable(commits.journal.end());
  CHECK(commits.a.received.empty());
  CHECK(commits.b.received == "2 ");
}

TEST_CASE("commit queue: a large batch goes to the journal before others add to it") {
  Commits commits;
  const std::string body(kBatchBytesPause, 'x');
  REQUIRE(commits.broker.put({.queue = "default", .body = body}, commits.clock.now()));
  commits.answer(commits.a, "large ");
  CHECK(commits.journal.batch_count() == 1);
  commits.put(commits.b, "small ");
  commits.run();
  CHECK(commits.journal.batch_count() == 2);
  commits.make_durable(commits.journal.end());
  CHECK(commits.a.received == "large ");
}

}  // namespace
}  // namespace millrace::server
