#include "server/turn/turn.hpp"

#include "server/net/outbox.hpp"
#include "server/turn/test_loop.hpp"
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
  void say_needing(Lsn needs, const std::string& reply) {
    const std::size_t begin = output_.size();
    output_ += reply;
    need_only(needs, begin);
  }
  [[nodiscard]] bool wants_input() const override { return true; }
  [[nodiscard]] bool wants_resume() const override { return false; }
  [[nodiscard]] bool wants_close() const override { return false; }
};

/// A client whose socket is a string.
class FakeClient final : public Responder {
 public:
  explicit FakeClient(Broker& broker) : id(broker.connect(session)) {}

  std::optional<Lsn> bind(Lsn lsn) override {
    const Lsn needed = std::min(lsn, session.output_needs());
    std::string output = session.take_output();
    if (output.empty()) return std::nullopt;
    outbox_.take(output, needed);
    return needed;
  }
  void let_go(Lsn durable) {
    received += outbox_.covered(durable);
    outbox_.consume(outbox_.covered(durable).size());
  }

  WaitingSession session;
  ClientId id;
  std::string received;

 private:
  Outbox outbox_;
};

/// Two clients, and what they have recorded.
struct Clients {
  TestLoop loop;
  FakeClient a{loop.broker};
  FakeClient b{loop.broker};

  Clients() {
    loop.turn.join(a.session, a);
    loop.turn.join(b.session, b);
    loop.on_let_go = [this](Lsn durable) {
      a.let_go(durable);
      b.let_go(durable);
    };
  }

  void run() { loop.run(); }

  /// The client's command recorded something, and was answered.
  void put(FakeClient& client, const std::string& reply) {
    REQUIRE(loop.broker.put({.queue = "default", .body = "x"}, loop.clock.now()));
    answer(client, reply);
  }

  void answer(FakeClient& client, const std::string& reply) {
    client.session.say(reply);
    loop.turn.enlist(client);
  }

  void make_durable(Lsn lsn) { loop.make_durable(lsn); }
};

TEST_CASE("turn: no reply leaves before its batch is durable") {
  Clients clients;
  clients.put(clients.a, "1 ");
  clients.run();
  REQUIRE(clients.loop.journal.end() > 0);
  CHECK(clients.a.received.empty());
  clients.make_durable(clients.loop.journal.end() - 1);
  CHECK(clients.a.received.empty());
  clients.make_durable(clients.loop.journal.end());
  CHECK(clients.a.received == "1 ");
}

TEST_CASE("turn: what everybody did in a turn is one batch") {
  Clients clients;
  clients.put(clients.a, "1 ");
  clients.put(clients.b, "2 ");
  clients.put(clients.a, "3 ");
  clients.run();
  CHECK(clients.loop.journal.batch_count() == 1);
  clients.make_durable(clients.loop.journal.end());
  CHECK(clients.a.received == "1 3 ");
  CHECK(clients.b.received == "2 ");
}

TEST_CASE("turn: each turn is a batch of its own, and covers up to its own end") {
  Clients clients;
  clients.put(clients.a, "1 ");
  clients.run();
  const Lsn first_end = clients.loop.journal.end();
  clients.put(clients.a, "2 ");
  clients.put(clients.b, "3 ");
  clients.run();
  CHECK(clients.loop.journal.batch_count() == 2);
  clients.make_durable(first_end);
  CHECK(clients.a.received == "1 ");
  CHECK(clients.b.received.empty());
  clients.make_durable(clients.loop.journal.end());
  CHECK(clients.a.received == "1 2 ");
  CHECK(clients.b.received == "3 ");
}

TEST_CASE("turn: a reply that recorded nothing waits for what was recorded before it") {
  Clients clients;
  clients.put(clients.a, "put ");
  clients.run();
  clients.answer(clients.b, "peek ");
  clients.run();
  CHECK(clients.loop.journal.batch_count() == 1);
  CHECK(clients.b.received.empty());
  clients.make_durable(clients.loop.journal.end());
  CHECK(clients.b.received == "peek ");
}

TEST_CASE("turn: while another server could lead no reply leaves, and then all do") {
  Clients clients;
  clients.loop.journal.let_answer(false);
  clients.put(clients.a, "a ");
  clients.answer(clients.b, "b ");
  clients.run();
  clients.make_durable(clients.loop.journal.end());
  CHECK(clients.a.received.empty());
  CHECK(clients.b.received.empty());
  clients.loop.journal.let_answer(true);
  clients.loop.run();
  CHECK(clients.a.received == "a ");
  CHECK(clients.b.received == "b ");
}

TEST_CASE("turn: a reply that needs less of the log leaves earlier") {
  Clients clients;
  clients.put(clients.a, "1 ");
  clients.run();
  const Lsn first_end = clients.loop.journal.end();
  clients.put(clients.a, "2 ");
  clients.b.session.say_needing(first_end, "job 1 ");
  clients.loop.turn.enlist(clients.b);
  clients.run();
  CHECK(clients.b.received.empty());
  clients.make_durable(first_end);
  CHECK(clients.b.received == "job 1 ");
  CHECK(clients.a.received == "1 ");
}

TEST_CASE("turn: what was put off is written when its time has come") {
  Clients clients;
  clients.loop.journal.durable_when = Durability::kWhenSynced;
  clients.put(clients.a, "1 ");
  clients.run();
  const ReserveRequest request{
      .choice = ReserveRequest::Choice::kFirstListed, .queues = {"default"}, .wid = "worker"};
  REQUIRE(clients.loop.broker.reserve(clients.b.id, request, clients.loop.clock.now()));
  clients.run();
  CHECK(clients.loop.journal.unhurried_count == 1);
  CHECK(clients.loop.journal.hurry_count == 0);
  clients.loop.clock.set(clients.loop.clock.now() + kUnhurriedMax);
  clients.run();
  CHECK(clients.loop.journal.hurry_count == 1);
}

TEST_CASE("turn: while everything is durable, nobody waits") {
  Clients clients;
  clients.answer(clients.a, "nothing new ");
  clients.run();
  CHECK(clients.a.received == "nothing new ");
  CHECK(clients.loop.turn.is_at_rest());
}

TEST_CASE("turn: a waiting client gets a job only when its put is durable") {
  Clients clients;
  REQUIRE(clients.loop.broker.connections().watch(clients.b.id, "default"));
  REQUIRE_FALSE(clients.loop.broker.reserve(clients.b.id, {}, clients.loop.clock.now()));
  clients.put(clients.a, "1 ");
  clients.run();
  CHECK(clients.b.received.empty());
  clients.make_durable(clients.loop.journal.end());
  CHECK(clients.b.received == "job ");
}

TEST_CASE("turn: what comes due in a turn is part of it") {
  Clients clients;
  const Time now = clients.loop.clock.now();
  REQUIRE_FALSE(clients.loop.broker.reserve(clients.b.id, {.wait_until = now + 1s}, now));
  clients.loop.clock.set(now + 1s);
  clients.loop.turn.request();
  clients.run();
  CHECK(clients.b.received == "timeout ");
}

TEST_CASE("turn: a client that leaves before the turn leaves the others in it") {
  Clients clients;
  clients.put(clients.a, "1 ");
  clients.put(clients.b, "2 ");
  clients.loop.turn.leave(clients.a.session, clients.a);
  clients.run();
  clients.make_durable(clients.loop.journal.end());
  CHECK(clients.a.received.empty());
  CHECK(clients.b.received == "2 ");
}

TEST_CASE("turn: a large batch goes to the journal before others add to it") {
  Clients clients;
  const std::string body(kBatchBytesPause, 'x');
  REQUIRE(clients.loop.broker.put({.queue = "default", .body = body}, clients.loop.clock.now()));
  clients.answer(clients.a, "large ");
  CHECK(clients.loop.journal.batch_count() == 1);
  clients.put(clients.b, "small ");
  clients.run();
  CHECK(clients.loop.journal.batch_count() == 2);
  clients.make_durable(clients.loop.journal.end());
  CHECK(clients.a.received == "large ");
}

TEST_CASE("turn: compaction keeps its pace when clients fill several batches in a turn") {
  Clients clients;
  FakeJournal& journal = clients.loop.journal;
  journal.has_segments = true;
  const auto put = [&, body = std::string(kBatchBytesPause, 'x')] {
    REQUIRE(clients.loop.broker.put({.queue = "default", .body = body}, clients.loop.clock.now()));
    clients.answer(clients.a, "put ");
  };
  for (int i = 0; i < 60; ++i) {
    put();
    clients.make_durable(journal.end());
  }
  const Lsn before = journal.end();
  for (JobId id = 2; id <= 60; id += 2) {
    REQUIRE(clients.loop.broker.connections().remove(0, id, clients.loop.clock.now()));
  }
  for (int i = 0; i < 4; ++i) put();
  const std::uint64_t theirs = journal.end() - before;
  clients.loop.turn.run();
  CHECK(journal.end() - before >= (1 + kCompactionPace) * theirs);
}

TEST_CASE("turn: where few are served, a reply leaves at once unless something recorded waits") {
  Clients clients;
  clients.answer(clients.a, "nothing recorded ");
  clients.loop.turn.answer_early(clients.a);
  CHECK(clients.a.received == "nothing recorded ");
  clients.put(clients.a, "put ");
  clients.answer(clients.b, "after it ");
  clients.loop.turn.answer_early(clients.a);
  clients.loop.turn.answer_early(clients.b);
  clients.run();
  CHECK(clients.a.received == "nothing recorded ");
  CHECK(clients.b.received.empty());
  clients.make_durable(clients.loop.journal.end());
  CHECK(clients.a.received == "nothing recorded put ");
  CHECK(clients.b.received == "after it ");
}

TEST_CASE("turn: a journal that keeps nothing takes each of few changes at once") {
  Clients clients;
  clients.loop.journal.durable_when = Durability::kWhenAppended;
  clients.put(clients.a, "1 ");
  clients.loop.turn.answer_early(clients.a);
  CHECK(clients.a.received == "1 ");
  clients.put(clients.b, "2 ");
  clients.loop.turn.answer_early(clients.b);
  CHECK(clients.b.received == "2 ");
  CHECK(clients.loop.journal.batch_count() == 2);
}

/// Brings one more put with each look, until there were so many.
struct Arriving {
  TestLoop loop;
  int left = 0;
  int looks = 0;
  std::size_t body_bytes = 1;

  Arriving() {
    loop.on_take = [this](Duration longest) { take(longest); };
  }

  /// One turn, in which the first of `count` puts arrives.
  void run(int count) {
    left = count;
    looks = 0;
    loop.turn.request();
    loop.turn.run();
  }

  void take(Duration longest) {
    CHECK(longest == Duration{});
    ++looks;
    if (left-- <= 0) return;
    const std::string body(body_bytes, 'x');
    REQUIRE(loop.broker.put({.queue = "default", .body = body}, loop.clock.now()));
  }
};

TEST_CASE("turn: what arrives while a batch collects that will be synced is part of it") {
  Arriving arriving;
  arriving.loop.journal.durable_when = Durability::kWhenSynced;
  arriving.run(3);
  CHECK(arriving.looks == 1 + kGatheringLooks);
  CHECK(arriving.left < 0);
  CHECK(arriving.loop.journal.batch_count() == 1);
  arriving.run(0);
  CHECK(arriving.looks == 1);
  arriving.body_bytes = kGatheredBytes;
  arriving.run(3);
  CHECK(arriving.looks == 1);
}

/// A log of other machines with batches in flight. A put is there, and each wait brings another.
struct InFlight {
  Clients clients;
  TestLoop& loop = clients.loop;
  std::vector<Duration> waits;
  std::function<void()> on_wait;

  InFlight() {
    loop.journal.durable_when = Durability::kWhenSynced;
    loop.on_take = [this](Duration longest) { take(longest); };
  }

  void run() {
    waits.clear();
    REQUIRE(loop.broker.put({.queue = "default", .body = "x"}, loop.clock.now()));
    loop.turn.run();
  }

  void take(Duration longest) {
    if (longest == Duration{}) return;
    waits.push_back(longest);
    REQUIRE(loop.broker.put({.queue = "default", .body = "x"}, loop.clock.now()));
    on_wait();
  }
};

TEST_CASE("turn: a small batch waits until one of two in flight is stored") {
  InFlight at;
  at.clients.put(at.clients.a, "1 ");
  at.loop.turn.run();
  at.loop.journal.batches_in_flight = 2;
  at.on_wait = [&] {
    if (at.waits.size() < 3) return;
    at.loop.journal.batches_in_flight = 1;
    at.loop.journal.make_durable(at.loop.journal.end());
  };
  at.run();
  CHECK(at.waits.size() == 3);
  CHECK(at.clients.a.received == "1 ");
  CHECK(at.loop.journal.batch_count() == 2);
}

TEST_CASE("turn: replies leave while a batch waits for what is in flight") {
  InFlight at;
  at.clients.put(at.clients.a, "1 ");
  at.loop.turn.run();
  at.loop.journal.batches_in_flight = 3;
  std::vector<std::string> received;
  at.on_wait = [&] {
    received.push_back(at.clients.a.received);
    if (received.size() == 1) at.loop.journal.make_durable(at.loop.journal.end());
    if (received.size() == 2) at.loop.journal.batches_in_flight = 0;
  };
  at.run();
  CHECK(received == std::vector<std::string>{"", "1 "});
}

TEST_CASE("turn: a batch waits no longer than a while for those in flight") {
  InFlight at;
  at.loop.journal.batches_in_flight = 2;
  at.on_wait = [&] {
    const Duration early = at.waits.size() == 1 ? Duration{1} : Duration{};
    at.loop.clock.set(at.loop.clock.now() + at.waits.back() - early);
  };
  at.run();
  CHECK(at.waits == std::vector<Duration>{kInFlightMax, Duration{1}});
  CHECK(at.loop.journal.batch_count() == 1);
}

TEST_CASE("turn: a batch does not wait for one in flight that few clients wait for") {
  InFlight at;
  at.loop.journal.batches_in_flight = 1;
  std::vector<std::unique_ptr<FakeClient>> many;
  for (std::size_t i = 0; i < kFewWaiting; ++i) {
    many.push_back(std::make_unique<FakeClient>(at.loop.broker));
    at.loop.turn.join(many.back()->session, *many.back());
    at.clients.put(*many.back(), "1 ");
  }
  at.loop.turn.run();
  at.run();
  CHECK(at.waits.empty());
  at.clients.put(at.clients.a, "1 ");
  at.loop.turn.run();
  at.on_wait = [&] { at.loop.journal.batches_in_flight = 0; };
  at.run();
  CHECK(at.waits.size() == 1);
}

TEST_CASE("turn: a server that is deposed while a batch waits appends nothing") {
  InFlight at;
  at.loop.journal.batches_in_flight = 2;
  at.on_wait = [&] { at.loop.journal.leader = Epoch{2}; };
  at.run();
  CHECK(at.waits.size() == 1);
  CHECK(at.loop.journal.batch_count() == 0);
  CHECK(at.loop.stood_down_count == 1);
}

TEST_CASE("turn: a batch that costs no sync is appended without another look") {
  Arriving arriving;
  arriving.run(3);
  CHECK(arriving.looks == 1);
  CHECK(arriving.loop.journal.batch_count() == 1);
}

TEST_CASE("turn: a batch that the log refuses is answered to nobody") {
  Clients clients;
  clients.put(clients.a, "a's ");
  clients.loop.journal.leader = Epoch{2};
  clients.run();
  CHECK(clients.loop.journal.batch_count() == 0);
  CHECK(clients.loop.stood_down_count == 1);
  clients.answer(clients.a, "more ");
  clients.loop.make_durable(1'000'000);
  CHECK(clients.a.received.empty());
  CHECK(clients.loop.stood_down_count == 1);
}

TEST_CASE("turn: replies that wait when another server takes the lead are not sent") {
  Clients clients;
  clients.put(clients.a, "a's ");
  clients.run();
  REQUIRE(clients.loop.journal.batch_count() == 1);
  clients.loop.journal.leader = Epoch{2};
  clients.loop.make_durable(clients.loop.journal.end());
  clients.answer(clients.b, "nothing new ");
  clients.loop.turn.bind_at_once(clients.b);
  clients.run();
  CHECK(clients.a.received.empty());
  CHECK(clients.b.received.empty());
}

}  // namespace
}  // namespace millrace::server
