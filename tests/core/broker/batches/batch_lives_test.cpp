#include "core/broker/batches/batch_fixture.hpp"

namespace millrace::test {

TEST_CASE("batch lives: one that nobody commits is forgotten, and its jobs run on") {
  BatchFixture batches;
  batches.add(7);
  batches.push_member(7);
  batches.advance(29min);
  CHECK(batches.has_batch(7));
  batches.advance(1min);
  CHECK_FALSE(batches.has_batch(7));
  batches.run();
  CHECK(batches.broker.view().tally().batches_dropped == 1);
}

TEST_CASE("batch lives: a push into an open batch gives it another half hour") {
  BatchFixture batches;
  batches.add(7);
  batches.advance(29min);
  batches.push_member(7);
  batches.advance(29min);
  CHECK(batches.has_batch(7));
  batches.advance(2min);
  CHECK_FALSE(batches.has_batch(7));
}

TEST_CASE("batch lives: an idle reopened batch counts as committed") {
  BatchFixture batches;
  batches.add(7);
  batches.push_member(7);
  batches.commit(7);
  batches.open(7);
  batches.run();
  CHECK(batches.is_waiting(7, kComplete));
  batches.advance(31min);
  CHECK(batches.is_enqueued(7, kComplete));
}

TEST_CASE("batch lives: the parent of a forgotten child goes on") {
  BatchFixture batches;
  batches.add(1, {kSuccess});
  batches.add(2, {kSuccess}, 1);
  batches.commit(1);
  batches.advance(31min);
  CHECK_FALSE(batches.has_batch(2));
  CHECK(batches.is_enqueued(1, kSuccess));
}

TEST_CASE("batch lives: a finished one is kept for a day") {
  BatchFixture batches;
  batches.add(7, {kSuccess});
  batches.commit(7);
  batches.run_callback(kSuccess, 7);
  batches.advance(23h);
  CHECK(batches.has_batch(7));
  batches.advance(2h);
  CHECK_FALSE(batches.has_batch(7));
}

TEST_CASE("batch lives: a committed one lives as long as a member does") {
  BatchFixture batches;
  batches.add(7);
  batches.push_member(7, "retry=-1");
  batches.commit(7);
  batches.run_badly();
  batches.run_callback(kComplete, 7);
  batches.advance(48h);
  CHECK(batches.has_batch(7));
}

TEST_CASE("batch lives: a parent lives as long as its children") {
  BatchFixture batches;
  batches.add(1, {kComplete});
  batches.commit(1);
  batches.run_callback(kComplete, 1);
  batches.advance(12h);
  batches.add(2, {kComplete}, 1);
  batches.commit(2);
  batches.run_callback(kComplete, 2);
  batches.advance(20h);
  CHECK(batches.has_batch(1));
  batches.advance(30h);
  CHECK_FALSE(batches.has_batch(2));
  batches.advance(25h);
  CHECK_FALSE(batches.has_batch(1));
}

}  // namespace millrace::test
