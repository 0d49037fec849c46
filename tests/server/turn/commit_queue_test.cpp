#include "server/turn/commit_queue.hpp"

#include "core/broker/broker.hpp"
#include "faktory/job/work_unit.hpp"
#include "server/fake_journal.hpp"
#include "server/manual_clock.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// Writes down what it is told.
struct Waiter final : Responder {
  void resume(Time) override {}
  std::optional<Lsn> bind(Lsn, Lsn) override { return std::nullopt; }
  void send_durable(Lsn durable) override { sent.push_back(durable); }
  std::vector<Lsn> sent;
};

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
    commits.send_durable();
  }
};

TEST_CASE("commit queue: nothing that was recorded, no batch") {
  TestQueue queue;
  queue.commits.append_batch();
  CHECK(queue.journal.batch_count() == 0);
}

TEST_CASE("commit queue: one that waits is sent when its batch is durable, once") {
  TestQueue queue;
  Waiter first;
  Waiter second;
  const Lsn first_end = queue.append();
  queue.commits.wait(first, first_end);
  const Lsn second_end = queue.append();
  queue.commits.wait(second, second_end);
  queue.make_durable(first_end - 1);
  CHECK(first.sent.empty());
  queue.make_durable(first_end);
  CHECK(first.sent == std::vector{first_end});
  CHECK(second.sent.empty());
  queue.make_durable(second_end);
  CHECK(first.sent.size() == 1);
  CHECK(second.sent == std::vector{second_end});
  CHECK_FALSE(queue.commits.has_waiting());
}

TEST_CASE("commit queue: one that was forgotten is not sent") {
  TestQueue queue;
  Waiter gone;
  Waiter stays;
  const Lsn end = queue.append();
  queue.commits.wait(gone, end);
  queue.commits.wait(stays, end);
  queue.commits.forget(gone);
  queue.make_durable(end);
  CHECK(gone.sent.empty());
  CHECK(stays.sent.size() == 1);
}

TEST_CASE(
    "commit queue: one that waits for an earlier batch, or a part of one, is sent with that") {
  TestQueue queue;
  Waiter late;
  Waiter early;
  Waiter part;
  const Lsn first_end = queue.append();
  const Lsn second_end = queue.append();
  queue.append();
  queue.commits.wait(late, queue.commits.end());
  queue.commits.wait(early, first_end);
  queue.commits.wait(part, second_end - 1);
  queue.make_durable(first_end);
  CHECK(early.sent == std::vector{first_end});
  CHECK(part.sent.empty());
  queue.make_durable(second_end);
  CHECK(part.sent == std::vector{second_end});
  CHECK(late.sent.empty());
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
  Waiter job;
  Waiter all;
  const Lsn job_end = queue.append();
  const Lsn end = queue.fetch();
  queue.commits.wait(job, job_end);
  CHECK(queue.journal.hurry_count == 0);
  queue.commits.wait(all, end);
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
