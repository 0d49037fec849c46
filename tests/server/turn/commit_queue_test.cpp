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
  bool bind(Lsn, Lsn) override { return false; }
  void send_durable(Lsn durable) override { sent.push_back(durable); }
  std::vector<Lsn> sent;
};

struct Queue {
  faktory::WorkUnits format;
  Ledger ledger;
  Broker broker{ledger, format, {}};
  FakeJournal journal;
  ManualClock clock;
  CommitQueue commits{{.ledger = ledger, .journal = journal, .clock = clock}};

  Queue() { commits.lead(journal.epoch()); }

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
  Queue queue;
  queue.commits.append_batch();
  CHECK(queue.journal.batch_count() == 0);
}

TEST_CASE("commit queue: one that waits is sent when its batch is durable, once") {
  Queue queue;
  Waiter first;
  Waiter second;
  const Lsn first_end = queue.append();
  queue.commits.wait(first);
  const Lsn second_end = queue.append();
  queue.commits.wait(second);
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
  Queue queue;
  Waiter gone;
  Waiter stays;
  const Lsn end = queue.append();
  queue.commits.wait(gone);
  queue.commits.wait(stays);
  queue.commits.forget(gone);
  queue.make_durable(end);
  CHECK(gone.sent.empty());
  CHECK(stays.sent.size() == 1);
}

TEST_CASE("commit queue: is behind when much waits, until half of it is durable") {
  Queue queue;
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
  Queue queue;
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
