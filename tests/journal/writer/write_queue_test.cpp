#include "journal/writer/write_queue.hpp"

#include <thread>

#include "support/doctest.hpp"

namespace millrace::journal {
namespace {

constexpr Lsn kPlace = 1000;

PlacedBatch placed(Lsn begin, std::string payload) {
  return {.segment = 0, .begin = begin, .payload = std::move(payload)};
}

constexpr auto kNow = std::chrono::steady_clock::time_point::min();
constexpr auto kNever = std::chrono::steady_clock::time_point::max();

}  // namespace

TEST_CASE("queue: a round takes what was appended, and leaves what comes later") {
  WriteQueue queue;
  CHECK_FALSE(queue.has_work());
  queue.append(placed(kPlace, "one"));
  queue.append(placed(kPlace + 100, "two"));
  CHECK(queue.has_work());
  (void)queue.take_round();
  queue.append(placed(kPlace + 200, "three"));
  CHECK(queue.in_flight().size() == 2);
  queue.finish_round(0);
  CHECK(queue.in_flight().empty());
  (void)queue.take_round();
  REQUIRE(queue.in_flight().size() == 1);
  CHECK(queue.in_flight().front().payload.view() == "three");
}

TEST_CASE("queue: what is not released is left, and can be read") {
  WriteQueue queue;
  queue.release(kPlace);
  queue.append(placed(kPlace, "one"));
  queue.append(placed(kPlace + 100, "two"));
  CHECK_FALSE(queue.has_work());
  queue.release(kPlace + 3);
  CHECK(queue.has_work());
  (void)queue.take_round();
  REQUIRE(queue.in_flight().size() == 1);
  CHECK(queue.in_flight().front().payload.view() == "one");
  queue.finish_round(0);
  CHECK_FALSE(queue.has_work());
  CHECK(queue.read(kPlace + 100, 3) == "two");
}

TEST_CASE("queue: what nobody waits for is taken with what comes next") {
  WriteQueue queue;
  queue.append_unhurried(placed(kPlace, "one"));
  CHECK(queue.has_work());
  queue.append(placed(kPlace + 100, "two"));
  (void)queue.wait_for_round(kNever);
  CHECK(queue.in_flight().size() == 2);
}

TEST_CASE("queue: what nobody waited for is taken when somebody does") {
  WriteQueue queue;
  queue.append_unhurried(placed(kPlace, "one"));
  queue.hurry();
  (void)queue.wait_for_round(kNever);
  CHECK(queue.in_flight().size() == 1);
}

TEST_CASE("queue: a writer that has something else to do takes what nobody waits for, too") {
  WriteQueue queue;
  queue.append_unhurried(placed(kPlace, "one"));
  (void)queue.wait_for_round(kNow);
  CHECK(queue.in_flight().size() == 1);
}

TEST_CASE("queue: bytes are pending until their round is over") {
  WriteQueue queue;
  queue.append(placed(kPlace, "12345"));
  CHECK(queue.pending_bytes() == 5);
  (void)queue.take_round();
  queue.append(placed(kPlace + 100, "678"));
  CHECK(queue.pending_bytes() == 8);
  queue.finish_round(0);
  CHECK(queue.pending_bytes() == 3);
}

TEST_CASE("queue: batches can be read until their round is over") {
  WriteQueue queue;
  queue.append(placed(kPlace, "first"));
  CHECK(queue.read(kPlace, 5) == "first");
  (void)queue.take_round();
  queue.append(placed(kPlace + 100, "second"));
  CHECK(queue.read(kPlace + 1, 2) == "ir");
  CHECK(queue.read(kPlace + 103, 3) == "ond");
  queue.finish_round(0);
  CHECK_FALSE(queue.read(kPlace, 5));
  CHECK(queue.read(kPlace + 100, 6) == "second");
}

TEST_CASE("queue: only bytes of one batch can be read") {
  WriteQueue queue;
  queue.append(placed(kPlace, "first"));
  CHECK_FALSE(queue.read(kPlace - 1, 1));
  CHECK_FALSE(queue.read(kPlace, 6));
  CHECK_FALSE(queue.read(kPlace + 5, 1));
}

TEST_CASE("queue: removals come in order, with the oldest segment that stays") {
  WriteQueue queue;
  queue.remove({100, 200}, 300);
  queue.remove({300}, 400);
  CHECK(queue.has_work());
  const WriteQueue::Round round = queue.take_round();
  CHECK(round.removals.segments == std::vector<Lsn>{100, 200, 300});
  CHECK(round.removals.oldest_kept == 400);
  CHECK_FALSE(queue.has_work());
}

TEST_CASE("queue: a round that is tried again has new removals and the same batches") {
  WriteQueue queue;
  queue.append(placed(kPlace, "one"));
  queue.remove({100}, 200);
  WriteQueue::Round round = queue.take_round();
  queue.append(placed(kPlace + 100, "two"));
  queue.remove({200}, 300);
  queue.stop();
  queue.refresh(round);
  CHECK(round.removals.segments == std::vector<Lsn>{200});
  CHECK(round.is_last);
  CHECK(queue.in_flight().size() == 1);
}

TEST_CASE("queue: a sync is asked for until the log is synced so far") {
  WriteQueue queue;
  queue.begin(10);
  queue.ask_to_sync(10);
  CHECK_FALSE(queue.has_work());
  queue.ask_to_sync(20);
  CHECK_FALSE(queue.is_synced(20));
  CHECK(queue.take_round().must_sync);
  queue.finish_round(20);
  CHECK(queue.is_synced(20));
  CHECK_FALSE(queue.has_work());
}

TEST_CASE("queue: the last round comes after the stop, and syncs") {
  WriteQueue queue;
  CHECK_FALSE(queue.take_round().is_last);
  queue.stop();
  const WriteQueue::Round round = queue.take_round();
  CHECK(round.is_last);
  CHECK(round.must_sync);
}

TEST_CASE("queue: after a failure nothing is taken in") {
  WriteQueue queue;
  queue.fail();
  CHECK(queue.has_failed());
  queue.append(placed(kPlace, "lost"));
  CHECK_FALSE(queue.has_work());
  CHECK(queue.pending_bytes() == 0);
}

TEST_CASE("queue: waiting for a round ends in time, also without work") {
  WriteQueue queue;
  const WriteQueue::Round round = queue.wait_for_round(kNow);
  CHECK(round.removals.segments.empty());
  CHECK(queue.in_flight().empty());
}

TEST_CASE("queue: a wait for room ends with removals, and with the stop") {
  constexpr std::chrono::milliseconds kLong{60'000};
  WriteQueue queue;
  CHECK(queue.wait_for_removals(std::chrono::milliseconds{0})->segments.empty());
  queue.remove({100}, 200);
  CHECK(queue.wait_for_removals(kLong)->segments == std::vector<Lsn>{100});
  queue.stop();
  CHECK_FALSE(queue.wait_for_removals(kLong));
}

TEST_CASE("queue: a sync returns when another thread has finished the round, or failed") {
  WriteQueue queue;
  WriterStatus status;
  bool fails = false;
  SUBCASE("finished") {}
  SUBCASE("failed") {
    fails = true;
  }
  std::thread writer([&] {
    (void)queue.wait_for_round(kNever);
    fails ? queue.fail() : queue.finish_round(kPlace);
  });
  queue.sync(kPlace, status);
  CHECK(queue.is_synced(kPlace) == !fails);
  writer.join();
}

}  // namespace millrace::journal
