#include "server/turn/commit_queue.hpp"

#include "core/broker/broker.hpp"
#include "faktory/job/work_unit.hpp"
#include "server/fake_journal.hpp"
#include "server/manual_clock.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// Keeps nothing of what is delivered to it.
class IdleSession final : public Session {
 public:
  void start(Time) override {}
  void receive(std::string_view, Time) override {}
  void resume(Time) override {}
  void end_of_input(Time) override {}
  void deliver(const Delivery&, Time) override {}
  void close(Time) override {}
  [[nodiscard]] bool wants_input() const override { return true; }
  [[nodiscard]] bool wants_resume() const override { return false; }
  [[nodiscard]] bool wants_close() const override { return false; }
};

struct TestQueue {
  faktory::WorkUnits format;
  Ledger ledger;
  Broker broker{ledger, format, {}};
  FakeJournal journal;
  ManualClock clock;
  CommitQueue commits{{.ledger = ledger, .journal = journal, .clock = clock}};

  TestQueue() { commits.lead(journal.epoch()); }

  /// One batch with a job whose body has so many bytes; answers its end.
  Lsn append(std::size_t bytes = 1) {
    REQUIRE(broker.put({.queue = "default", .body = std::string(bytes, 'x')}, clock.now()));
    commits.append_batch();
    return commits.end();
  }
  void make_durable(Lsn lsn) {
    journal.make_durable(lsn);
    commits.look();
  }
};

TEST_CASE("commit queue: nothing that was recorded, no batch") {
  TestQueue queue;
  queue.commits.append_batch();
  CHECK(queue.journal.batch_count() == 0);
}

TEST_CASE("commit queue: a reply waits until its batch is durable") {
  TestQueue queue;
  queue.commits.await(queue.append());
  const Lsn end = queue.append();
  queue.commits.await(end);
  queue.make_durable(end - 1);
  CHECK(queue.commits.has_waiting());
  queue.make_durable(end);
  CHECK_FALSE(queue.commits.has_waiting());
}

TEST_CASE("commit queue: a reply that needs nothing more does not wait") {
  TestQueue queue;
  const Lsn end = queue.append();
  queue.make_durable(end);
  queue.commits.await(end);
  CHECK_FALSE(queue.commits.has_waiting());
}

TEST_CASE("commit queue: what waits is many when it is more than a few, in whatever order") {
  TestQueue queue;
  const Lsn first_end = queue.append();
  const Lsn end = queue.append();
  queue.commits.await(end);
  for (std::size_t i = 1; i < kFewWaiting; ++i) queue.commits.await(first_end);
  CHECK_FALSE(queue.commits.has_many_waiting());
  queue.commits.await(end);
  CHECK(queue.commits.has_many_waiting());
  queue.make_durable(end);
  CHECK_FALSE(queue.commits.has_waiting());
}

TEST_CASE("commit queue: while another server could lead, every reply waits") {
  TestQueue queue;
  queue.journal.let_answer(false);
  const Lsn end = queue.append();
  queue.make_durable(end);
  queue.commits.await(end);
  CHECK(queue.commits.has_waiting());
  queue.journal.let_answer(true);
  queue.commits.look();
  CHECK_FALSE(queue.commits.has_waiting());
}

/// A queue whose journal syncs each batch. Workers fetch.
struct SyncedQueue : TestQueue {
  SyncedQueue() { journal.durable_when = Durability::kWhenSynced; }

  Lsn fetch() {
    const ReserveRequest request{
        .choice = ReserveRequest::Choice::kFirstListed, .queues = {"default"}, .wid = "worker"};
    REQUIRE(broker.reserve(client, request, clock.now()));
    commits.append_batch();
    return commits.end();
  }

  IdleSession session;
  ClientId client = broker.connect(session);
};

TEST_CASE("commit queue: reservations of workers are written with what comes next") {
  SyncedQueue queue;
  queue.append();
  queue.append();
  CHECK(queue.journal.unhurried_count == 0);
  queue.fetch();
  CHECK(queue.journal.unhurried_count == 1);
  CHECK(queue.commits.hurry_at() == queue.clock.now() + kUnhurriedMax);
  queue.append();
  CHECK(queue.journal.unhurried_count == 1);
  CHECK(queue.commits.hurry_at() == kNever);
  CHECK(queue.journal.hurry_count == 0);
}

TEST_CASE("commit queue: reservations together with something else are not put off") {
  SyncedQueue queue;
  queue.append();
  REQUIRE(queue.broker.put({.queue = "other", .body = "x"}, queue.clock.now()));
  queue.fetch();
  CHECK(queue.journal.unhurried_count == 0);
}

TEST_CASE("commit queue: where nothing is synced, reservations are not put off") {
  SyncedQueue queue;
  queue.journal.durable_when = Durability::kWhenWritten;
  queue.append();
  queue.fetch();
  CHECK(queue.journal.unhurried_count == 0);
}

TEST_CASE("commit queue: who waits for a reservation has it written at once") {
  SyncedQueue queue;
  const Lsn job_end = queue.append();
  const Lsn end = queue.fetch();
  queue.commits.await(job_end);
  CHECK(queue.journal.hurry_count == 0);
  queue.commits.await(end);
  CHECK(queue.journal.hurry_count == 1);
  CHECK(queue.commits.hurry_at() == kNever);
}

TEST_CASE("commit queue: is behind when much waits, until half of it is durable") {
  TestQueue queue;
  Lsn end = 0;
  while (end <= kUndurableBytesMax) {
    CHECK_FALSE(queue.commits.is_behind());
    end = queue.append(kBatchBytesPause / 2);
  }
  CHECK(queue.commits.is_behind());
  queue.make_durable(end - kUndurableBytesLow - 1);
  CHECK(queue.commits.is_behind());
  queue.make_durable(end - kUndurableBytesLow);
  CHECK_FALSE(queue.commits.is_behind());
}

TEST_CASE("commit queue: the oldest batch tells how long something has waited") {
  TestQueue queue;
  const Lsn first_end = queue.append();
  queue.clock.set(queue.clock.now() + 2s);
  queue.append();
  queue.clock.set(queue.clock.now() + 1s);
  CHECK(queue.commits.longest_wait(queue.clock.now()) == 3s);
  queue.make_durable(first_end);
  CHECK(queue.commits.longest_wait(queue.clock.now()) == 1s);
  CHECK(queue.commits.waits().count() == 1);
}

}  // namespace
}  // namespace millrace::server
