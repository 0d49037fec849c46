#include "core/broker/batches/batch_fixture.hpp"

namespace millrace::test {
namespace {

constexpr auto kDiscard = Mutation::Action::kDiscard;
constexpr auto kKill = Mutation::Action::kKill;

/// A committed batch 7 with one open member.
struct OneMember : BatchFixture {
  OneMember() {
    add(7);
    member = push_member(7);
    commit(7);
  }
  /// The member has ended without success.
  void check_lost() {
    CHECK(counts(7) == "1/0/1");
    CHECK(is_enqueued(7, kComplete));
    run_callback(kComplete, 7);
    CHECK(is_waiting(7, kSuccess));
  }

  JobId member = 0;
};

}  // namespace

TEST_CASE("batch members: complete is pushed by the command that discards the last open one") {
  OneMember batches;
  batches.change(batches.member, kDiscard);
  batches.check_lost();
}

TEST_CASE("batch members: a killed one counts as run and failed, and stays pending") {
  OneMember batches;
  batches.change(batches.member, kKill);
  CHECK(batches.counts(7) == "1/1/1");
  CHECK(batches.is_enqueued(7, kComplete));
}

TEST_CASE("batch members: complete is pushed by the QUEUE REMOVE that removes the last open one") {
  OneMember batches;
  CHECK(batches.broker.admin().remove_queues(batches.worker, {"default"}, batches.now) == 1);
  batches.check_lost();
}

TEST_CASE("batch members: complete is pushed by the MUTATE that discards the last open one") {
  BatchFixture batches;
  batches.add(7);
  batches.push_member(7, "retry=5");
  batches.commit(7);
  batches.open(7);
  batches.run_badly();
  const JobId second = batches.schedule("later", 3600s);
  batches.commit(7);
  CHECK(batches.is_enqueued(7, kComplete));
  const Mutation all{.set = JobState::kRetrying, .action = kDiscard};
  CHECK(batches.broker.admin().mutate(batches.worker, all, batches.now) == 1);
  CHECK(batches.counts(7) == "1/0/1");
  CHECK(batches.has(second));
}

TEST_CASE("batch members: one that expires counts as failed, and complete is pushed") {
  BatchFixture batches;
  batches.add(7);
  batches.push_member(7, "", {.expires_at = batches.now + 60s});
  batches.commit(7);
  batches.advance(61s);
  CHECK(batches.counts(7) == "1/0/1");
  CHECK(batches.is_enqueued(7, kComplete));
}

TEST_CASE("batch members: FETCH removes an expired one and pushes complete at once") {
  BatchFixture batches;
  batches.add(7);
  batches.push_member(7, "", {.expires_at = batches.now + 60s});
  batches.commit(7);
  batches.now += 61s;
  const auto fetched = batches.fetch(batches.worker, "w", {"default", "callbacks"});
  REQUIRE(fetched);
  CHECK(batches.batch(7).complete_job == *fetched);
}

TEST_CASE("batch members: without retries a failure is the end") {
  BatchFixture batches;
  batches.add(7);
  batches.push_member(7, "retry=0");
  batches.commit(7);
  batches.run_badly();
  CHECK(batches.counts(7) == "1/0/1");
  CHECK(batches.is_enqueued(7, kComplete));
}

TEST_CASE("batch members: one that is requeued from dead and succeeds brings success after all") {
  BatchFixture batches;
  batches.add(7, {kSuccess});
  const JobId member = batches.push_member(7, "retry=-1");
  batches.commit(7);
  batches.run_badly();
  CHECK(batches.state(member) == JobState::kDead);
  CHECK(batches.counts(7) == "1/1/1");
  batches.change(member, Mutation::Action::kRequeue);
  CHECK(batches.counts(7) == "1/1/1");
  batches.run();
  CHECK(batches.counts(7) == "1/0/0");
  CHECK(batches.is_enqueued(7, kSuccess));
}

TEST_CASE("batch members: a dead one that is purged counts as failed for good") {
  BatchFixture batches;
  batches.add(7);
  const JobId member = batches.push_member(7, "retry=-1");
  batches.commit(7);
  batches.run_badly();
  batches.change(member, kDiscard);
  CHECK(batches.counts(7) == "1/0/1");
}

TEST_CASE("batch members: a failure is counted once, however often the job fails") {
  BatchFixture batches;
  batches.add(7);
  const JobId member = batches.push_member(7);
  batches.run_badly();
  batches.change(member, Mutation::Action::kRequeue);
  batches.run_badly();
  CHECK(batches.counts(7) == "1/1/1");
}

TEST_CASE("batch members: a second ACK changes nothing") {
  BatchFixture batches;
  batches.add(7);
  batches.push_member(7, "jid=one");
  batches.push_member(7, "jid=two");
  batches.fetch_next();
  batches.ack_named("one");
  CHECK_FALSE(batches.broker.workers().ack(batches.worker, "one", batches.now));
  CHECK(batches.counts(7) == "2/1/0");
}

TEST_CASE("batch members: a reservation that runs out is a failure, and a second run heals it") {
  BatchFixture batches;
  batches.add(7);
  const JobId member = batches.push_member(7);
  batches.commit(7);
  batches.fetch_next();
  batches.advance(1801s);
  CHECK(batches.counts(7) == "1/1/1");
  batches.change(member, Mutation::Action::kRequeue);
  batches.run();
  CHECK(batches.counts(7) == "1/0/0");
}

TEST_CASE("batch members: a scheduled one is pending until it has run") {
  BatchFixture batches;
  batches.add(7);
  JobFeatures features;
  features.batch = 7;
  REQUIRE(batches.broker.put({.kind = JobKind::kWorkUnit,
                              .queue = "default",
                              .due = batches.now + 1h,
                              .features = features},
                             batches.now));
  batches.commit(7);
  CHECK(batches.is_waiting(7, kComplete));
  batches.advance(1h);
  batches.run();
  CHECK(batches.is_enqueued(7, kComplete));
}

TEST_CASE("batch members: two of one jid count twice") {
  BatchFixture batches;
  batches.add(7);
  batches.push_member(7, "jid=same,1");
  batches.push_member(7, "jid=same,2");
  CHECK(batches.counts(7) == "2/2/0");
}

TEST_CASE("batch members: one that is pushed again counts once, and in each batch") {
  BatchFixture batches;
  batches.add(7);
  batches.add(8);
  const JobId first = batches.push_member(7, "jid=same");
  CHECK(batches.push_member(7, "jid=same") == first);
  CHECK(batches.counts(7) == "1/1/0");
  CHECK(batches.push_member(8, "jid=same") != first);
  CHECK(batches.counts(8) == "1/1/0");
}

TEST_CASE("batch members: a push that is refused is not counted") {
  BatchFixture batches;
  batches.add(7);
  const LockKey key{.high = 1, .low = 1};
  batches.push_member(7, "", {.lock_key = key, .lock_ends = batches.now + 1h});
  JobFeatures features{.lock_key = key, .lock_ends = batches.now + 1h, .batch = 7};
  const auto second = batches.broker.put(
      {.kind = JobKind::kWorkUnit, .queue = "default", .features = features}, batches.now);
  REQUIRE_FALSE(second);
  CHECK(second.error() == Refusal::kNotUnique);
  CHECK(batches.counts(7) == "1/1/0");
}

TEST_CASE("batch members: a push into a batch that is not there is refused") {
  BatchFixture batches;
  JobFeatures features{.batch = 7};
  const auto id = batches.broker.put({.queue = "default", .features = features}, batches.now);
  REQUIRE_FALSE(id);
  CHECK(id.error() == Refusal::kNoSuchBatch);
}

TEST_CASE("batch members: a beanstalk client that deletes the job it holds acknowledges it") {
  OneMember batches;
  CHECK(batches.reserve(batches.worker) == batches.member);
  REQUIRE(batches.broker.connections().remove(batches.worker, batches.member, batches.now));
  CHECK(batches.counts(7) == "1/0/0");
  batches.run_callback(kComplete, 7);
  CHECK(batches.is_enqueued(7, kSuccess));
}

TEST_CASE("batch members: a beanstalk client that deletes a waiting one loses it") {
  OneMember batches;
  REQUIRE(batches.broker.connections().remove(batches.worker, batches.member, batches.now));
  batches.check_lost();
}

TEST_CASE("batch members: one that a beanstalk client buries is dead, and complete is pushed") {
  OneMember batches;
  CHECK(batches.reserve(batches.worker) == batches.member);
  REQUIRE(batches.broker.connections().bury(batches.worker, batches.member, 0, batches.now));
  CHECK(batches.counts(7) == "1/1/1");
  CHECK(batches.is_enqueued(7, kComplete));
}

TEST_CASE("batch members: one that a beanstalk client releases has not run") {
  OneMember batches;
  CHECK(batches.reserve(batches.worker) == batches.member);
  REQUIRE(batches.broker.connections().release(batches.worker, batches.member, 0, 0, batches.now));
  CHECK(batches.counts(7) == "1/1/0");
  CHECK(batches.is_waiting(7, kComplete));
}

TEST_CASE("batch members: an ACK after FLUSH has no effect") {
  OneMember batches;
  batches.fetch_next();
  CHECK(batches.broker.admin().flush(batches.worker, batches.now));
  CHECK_FALSE(batches.has_batch(7));
  const std::string jid = "j" + std::to_string(batches.member);
  CHECK_FALSE(batches.broker.workers().ack(batches.worker, jid, batches.now));
}

TEST_CASE(
    "batch members: QUEUE REMOVE of many is done in slices, and the last one pushes complete") {
  constexpr std::size_t kCount = 3 * kSliceJobs;
  BatchFixture batches;
  batches.add(7);
  for (std::size_t i = 0; i < kCount; ++i) batches.push_member(7);
  batches.commit(7);
  CHECK_FALSE(batches.broker.admin().remove_queues(batches.worker, {"default"}, batches.now));
  // Each counts as three jobs.
  CHECK(batches.batch(7).pending == kCount - (kSliceJobs + 2) / 3);
  CHECK(batches.is_waiting(7, kComplete));
  batches.settle();
  CHECK(batches.delivered(batches.worker)->count == kCount);
  CHECK(batches.batch(7).lost == kCount);
  CHECK(batches.is_enqueued(7, kComplete));
}

}  // namespace millrace::test
