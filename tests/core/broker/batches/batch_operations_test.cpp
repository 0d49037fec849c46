#include "core/broker/batches/batch_fixture.hpp"
#include "core/broker/bulk_changes.hpp"

namespace millrace::test {
namespace {

/// A batch 7, and jobs that are none of its.
struct Changed : BatchFixture {
  void start(BulkChanges::Request request) {
    request.batch = 7;
    REQUIRE(changes.start(std::move(request), now));
    while (changes.work(now)) {
    }
  }
  [[nodiscard]] std::uint64_t changed() const { return changes.list().front().changed; }

  BulkChanges changes{broker};
};

}  // namespace

TEST_CASE("batch operations: a change of a batch's dead members requeues no other dead job") {
  Changed batches;
  batches.add(7, {kSuccess});
  const JobId member = batches.push_member(7, "retry=-1");
  batches.commit(7);
  batches.run_badly();
  const JobId other = batches.push_dead("x");
  batches.start({.states = {JobState::kDead}, .action = Mutation::Action::kRequeue});
  CHECK(batches.changed() == 1);
  CHECK(batches.state(member) == JobState::kReady);
  CHECK(batches.state(other) == JobState::kDead);
  batches.run();
  CHECK(batches.is_enqueued(7, kSuccess));
}

TEST_CASE("batch operations: discarding the open members ends the batch, without success") {
  Changed batches;
  batches.add(7);
  for (std::size_t i = 0; i < 2 * kSliceChanges; ++i) {
    batches.push_member(7);
    batches.push("another");
  }
  batches.commit(7);
  batches.start({.states = {JobState::kReady}});
  CHECK(batches.changed() == 2 * kSliceChanges);
  CHECK(batches.broker.view().orders().count(JobState::kReady) == 2 * kSliceChanges + 1);
  CHECK(batches.is_enqueued(7, kComplete));
  batches.run_callback(kComplete, 7);
  CHECK(batches.is_waiting(7, kSuccess));
}

TEST_CASE("batch operations: a change of a batch's members leaves its callbacks alone") {
  Changed batches;
  batches.add(7);
  batches.commit(7);
  batches.start({.states = {JobState::kReady}});
  CHECK(batches.changed() == 0);
  CHECK(batches.is_enqueued(7, kComplete));
}

TEST_CASE("batch operations: with its lost members accepted a batch succeeds") {
  BatchFixture batches;
  batches.add(7, {kSuccess});
  batches.push_member(7, "retry=0");
  batches.commit(7);
  batches.run_badly();
  CHECK(batches.is_waiting(7, kSuccess));
  CHECK(batches.broker.batches().accept_lost(7, 1, batches.now).value() == 1);
  CHECK(batches.counts(7) == "1/0/0");
  CHECK(batches.is_enqueued(7, kSuccess));
}

TEST_CASE("batch operations: no more lost members are accepted than somebody agreed to") {
  BatchFixture batches;
  batches.add(7, {kSuccess});
  batches.push_member(7, "retry=0");
  batches.push_member(7, "retry=0");
  batches.commit(7);
  batches.run_badly();
  batches.run_badly();
  CHECK(batches.broker.batches().accept_lost(7, 1, batches.now).value() == 1);
  CHECK(batches.counts(7) == "2/0/1");
  CHECK(batches.is_waiting(7, kSuccess));
}

TEST_CASE("batch operations: a dead member is not lost, and is not accepted") {
  BatchFixture batches;
  batches.add(7, {kSuccess});
  batches.push_member(7, "retry=-1");
  batches.commit(7);
  batches.run_badly();
  CHECK(batches.broker.batches().accept_lost(7, 9, batches.now).value() == 0);
  CHECK(batches.counts(7) == "1/1/1");
}

TEST_CASE("batch operations: the members of a deleted batch run on, and no callback is pushed") {
  BatchFixture batches;
  batches.add(7);
  batches.push_member(7);
  batches.commit(7);
  REQUIRE(batches.broker.batches().remove(7, batches.now));
  CHECK_FALSE(batches.has_batch(7));
  batches.run();
  CHECK(batches.broker.view().tally().batch_callbacks == 0);
}

TEST_CASE("batch operations: the parent of a deleted batch does not wait for it") {
  BatchFixture batches;
  batches.add(1, {kSuccess});
  batches.add(2, {kSuccess}, 1);
  batches.push_member(2);
  batches.commit(1);
  REQUIRE(batches.broker.batches().remove(2, batches.now));
  CHECK(batches.is_enqueued(1, kSuccess));
}

TEST_CASE("batch operations: the children of a deleted batch go on without it") {
  BatchFixture batches;
  batches.add(1, {kSuccess});
  batches.add(2, {kSuccess}, 1);
  batches.commit(2);
  REQUIRE(batches.broker.batches().remove(1, batches.now));
  batches.run_callback(kSuccess, 2);
  CHECK(batches.batch(2).is_finished());
}

TEST_CASE("batch operations: a child of an unknown parent is refused") {
  BatchFixture batches;
  const auto made = batches.broker.batches().add({.id = 2, .parent = 1}, batches.now);
  REQUIRE_FALSE(made);
  CHECK(made.error() == Refusal::kNoSuchBatch);
  CHECK_FALSE(batches.has_batch(2));
}

TEST_CASE("batch operations: every one of a batch that is not there is refused") {
  BatchFixture batches;
  BatchOperations& operations = batches.broker.batches();
  CHECK(operations.open(7, batches.now).error() == Refusal::kNoSuchBatch);
  CHECK(operations.commit(7, batches.now).error() == Refusal::kNoSuchBatch);
  CHECK(operations.accept_lost(7, 1, batches.now).error() == Refusal::kNoSuchBatch);
  CHECK(operations.remove(7, batches.now).error() == Refusal::kNoSuchBatch);
}

TEST_CASE("batch operations: committing twice changes nothing") {
  BatchFixture batches;
  batches.add(7);
  batches.commit(7);
  batches.commit(7);
  CHECK(batches.broker.view().tally().batch_callbacks == 1);
}

}  // namespace millrace::test
