#include "core/broker/batches/batch_fixture.hpp"

namespace millrace::test {

TEST_CASE("batches: an empty batch pushes complete when it is committed, and then success") {
  BatchFixture batches;
  batches.add(7);
  CHECK(batches.is_waiting(7, kComplete));
  batches.commit(7);
  CHECK(batches.is_enqueued(7, kComplete));
  CHECK(batches.is_waiting(7, kSuccess));
  batches.run_callback(kComplete, 7);
  CHECK(batches.is_enqueued(7, kSuccess));
  batches.run_callback(kSuccess, 7);
  CHECK(batches.callback(7, kSuccess) == CallbackState::kSucceeded);
}

TEST_CASE("batches: members run at once, and no callback is pushed before COMMIT") {
  BatchFixture batches;
  batches.add(7);
  batches.push_member(7);
  batches.run();
  CHECK(batches.counts(7) == "1/0/0");
  CHECK(batches.is_waiting(7, kComplete));
  batches.commit(7);
  CHECK(batches.is_enqueued(7, kComplete));
}

TEST_CASE("batches: complete comes after the first run of the last member, success after its end") {
  BatchFixture batches;
  batches.add(7);
  batches.push_member(7);
  batches.push_member(7);
  batches.commit(7);
  batches.run();
  CHECK(batches.is_waiting(7, kComplete));
  const JobId failed = batches.run_badly();
  CHECK(batches.counts(7) == "2/1/1");
  CHECK(batches.is_enqueued(7, kComplete));
  batches.run_callback(kComplete, 7);
  CHECK(batches.is_waiting(7, kSuccess));
  batches.change(failed, Mutation::Action::kRequeue);
  batches.run();
  CHECK(batches.counts(7) == "2/0/0");
  CHECK(batches.is_enqueued(7, kSuccess));
}

TEST_CASE("batches: a success callback that fails is not pushed once more") {
  BatchFixture batches;
  batches.add(7, {kSuccess});
  batches.commit(7);
  const JobId callback = batches.run_badly("callbacks");
  CHECK(batches.is_enqueued(7, kSuccess));
  batches.change(callback, Mutation::Action::kRequeue);
  batches.run_callback(kSuccess, 7);
  CHECK(batches.callback(7, kSuccess) == CallbackState::kSucceeded);
  CHECK(batches.broker.view().tally().batch_callbacks == 1);
}

TEST_CASE("batches: a complete callback that is deleted counts as ended") {
  BatchFixture batches;
  batches.add(7);
  batches.commit(7);
  batches.change(batches.batch(7).complete_job, Mutation::Action::kDiscard);
  CHECK(batches.callback(7, kComplete) == CallbackState::kGone);
  CHECK(batches.is_enqueued(7, kSuccess));
}

TEST_CASE("batches: while a complete callback is dead, success waits for it") {
  BatchFixture batches;
  batches.add(7);
  batches.commit(7);
  batches.change(batches.batch(7).complete_job, Mutation::Action::kKill);
  CHECK(batches.is_waiting(7, kSuccess));
  batches.change(batches.batch(7).complete_job, Mutation::Action::kRequeue);
  batches.run_callback(kComplete, 7);
  CHECK(batches.is_enqueued(7, kSuccess));
}

TEST_CASE("batches: a fired callback stays fired when jobs come later") {
  BatchFixture batches;
  batches.add(7);
  batches.commit(7);
  batches.open(7);
  batches.push_member(7);
  CHECK(batches.is_enqueued(7, kComplete));
  batches.commit(7);
  batches.run();
  batches.run_callback(kComplete, 7);
  batches.run_callback(kSuccess, 7);
  CHECK(batches.broker.view().tally().batch_callbacks == 2);
}

TEST_CASE("batches: a batch without a complete callback pushes success at once") {
  BatchFixture batches;
  batches.add(7, {kSuccess});
  batches.push_member(7);
  batches.commit(7);
  batches.run();
  CHECK(batches.is_enqueued(7, kSuccess));
}

TEST_CASE("batches: death comes once, with the first member that ends without success") {
  BatchFixture batches;
  batches.add(7, {kComplete, kDeath});
  batches.push_member(7, "retry=-1");
  batches.push_member(7, "retry=-1");
  batches.commit(7);
  batches.run_badly();
  CHECK(batches.is_enqueued(7, kDeath));
  batches.run_badly();
  CHECK(batches.broker.view().tally().batch_callbacks == 2);
}

TEST_CASE("batches: a parent waits for the success callback of its child") {
  BatchFixture batches;
  batches.add(1, {kSuccess});
  batches.add(2, {kSuccess}, 1);
  batches.push_member(2);
  batches.commit(1);
  batches.commit(2);
  CHECK(batches.is_waiting(1, kSuccess));
  batches.run();
  CHECK(batches.is_waiting(1, kSuccess));
  batches.run_callback(kSuccess, 2);
  CHECK(batches.is_enqueued(1, kSuccess));
}

TEST_CASE("batches: complete of a parent waits for no success of a child that has failed") {
  BatchFixture batches;
  batches.add(1);
  batches.add(2, {kSuccess}, 1);
  batches.push_member(2, "retry=0");
  batches.commit(1);
  batches.commit(2);
  batches.run_badly();
  CHECK(batches.is_enqueued(1, kComplete));
  batches.run_callback(kComplete, 1);
  CHECK(batches.is_waiting(1, kSuccess));
}

TEST_CASE("batches: ten thousand nested batches end one after the other, without recursion") {
  constexpr JobBatchId kDepth = 10'000;
  BatchFixture batches;
  batches.add(1, {kComplete});
  for (JobBatchId id = 2; id <= kDepth; ++id) batches.add(id, {kComplete}, id - 1);
  for (JobBatchId id = kDepth; id >= 1; --id) batches.commit(id);
  // The innermost is complete, each other one waits for its child.
  CHECK(batches.broker.view().tally().batch_callbacks == 1);
  for (JobBatchId id = kDepth; id >= 1; --id) {
    batches.run_callback(kComplete, id);
    batches.end_turn();
  }
  CHECK(batches.broker.view().tally().batch_callbacks == kDepth);
  CHECK(batches.batch(1).is_finished());
}

TEST_CASE("batches: what one operation makes due in ten thousand batches is done in slices") {
  constexpr JobBatchId kCount = 10'000;
  BatchFixture batches;
  // Without a callback of their own they would all end in the operation that ends the innermost.
  batches.add(1, {kComplete});
  for (JobBatchId id = 2; id <= kCount; ++id) batches.add(id, {kDeath}, id - 1);
  batches.push_member(kCount);
  for (JobBatchId id = 1; id <= kCount; ++id) batches.commit(id);
  batches.run();
  CHECK(batches.is_waiting(1, kComplete));
  CHECK(batches.broker.tick(batches.now) == kAtOnce);
  batches.settle();
  CHECK(batches.is_enqueued(1, kComplete));
}

TEST_CASE("batches: a callback waits while records must not grow") {
  BatchFixture batches;
  batches.add(7, {kSuccess});
  batches.push_member(7);
  batches.commit(7);
  batches.broker.set_admission(Admission::kNoGrowth);
  batches.run();
  CHECK(batches.is_waiting(7, kSuccess));
  batches.broker.set_admission(Admission::kEverything);
  batches.settle();
  CHECK(batches.is_enqueued(7, kSuccess));
}

}  // namespace millrace::test
