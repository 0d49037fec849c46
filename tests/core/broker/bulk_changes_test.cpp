#include "core/broker/bulk_changes.hpp"

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

using Phase = BulkChanges::Phase;

void finish(BrokerFixture& fixture, BulkChanges& changes) {
  while (changes.work(fixture.now)) {
  }
}

}  // namespace

TEST_CASE("bulk changes: a held job stays, the others of the states are changed") {
  BrokerFixture fixture;
  BulkChanges changes(fixture.broker);
  const ClientId client = fixture.client();
  const JobId held = fixture.push("a");
  CHECK(fixture.fetch(client, "w") == held);
  const JobId ready = fixture.push("b");
  const JobId dead = fixture.push_dead("c");
  const auto id = changes.start(
      {.states = {JobState::kReady, JobState::kReserved, JobState::kDead}}, fixture.now);
  REQUIRE(id);
  finish(fixture, changes);
  CHECK(fixture.has(held));
  CHECK_FALSE(fixture.has(ready));
  CHECK_FALSE(fixture.has(dead));
  CHECK(changes.find(*id)->phase == Phase::kDone);
  CHECK(changes.find(*id)->changed == 2);
}

TEST_CASE("bulk changes: jobs are moved once each, to a queue that the walk comes to as well") {
  BrokerFixture fixture;
  BulkChanges changes(fixture.broker);
  const JobId there = fixture.push("x", "z");
  const JobId ready = fixture.push("x", "a");
  const JobId dead = fixture.push_dead("y", "b");
  const JobId scheduled = fixture.schedule("z", 1h, "b");
  const auto id =
      changes.start({.states = {JobState::kReady, JobState::kDead, JobState::kScheduled},
                     .action = Mutation::Action::kMove,
                     .to = "z"},
                    fixture.now);
  REQUIRE(id);
  finish(fixture, changes);
  CHECK(changes.find(*id)->changed == 3);
  for (const JobId each : {there, ready, dead, scheduled}) {
    CHECK(fixture.broker.view().queues().at(fixture.job(each).queue).name == "z");
  }
  CHECK(fixture.state(dead) == JobState::kDead);
  CHECK(fixture.state(scheduled) == JobState::kScheduled);
}

TEST_CASE("bulk changes: a cancelled one leaves the rest alone") {
  BrokerFixture fixture;
  BulkChanges changes(fixture.broker);
  for (std::size_t i = 0; i < 2 * kSliceChanges; ++i) fixture.put("x");
  const auto id = changes.start({.states = {JobState::kReady}}, fixture.now);
  REQUIRE(id);
  CHECK(changes.work(fixture.now));
  CHECK(changes.cancel(*id, fixture.now));
  CHECK_FALSE(changes.cancel(*id, fixture.now));
  CHECK_FALSE(changes.work(fixture.now));
  CHECK(changes.find(*id)->phase == Phase::kCancelled);
  CHECK(fixture.broker.view().orders().count(JobState::kReady) == kSliceChanges);
}

TEST_CASE("bulk changes: retries that are spread become ready one after the other") {
  BrokerFixture fixture;
  BulkChanges changes(fixture.broker);
  for (int i = 0; i < 4; ++i) fixture.push_dead("x");
  const auto id = changes.start({.states = {JobState::kDead},
                                 .action = Mutation::Action::kRequeue,
                                 .spread = 100s,
                                 .bounds = {.changes_max = 4}},
                                fixture.now);
  REQUIRE(id);
  finish(fixture, changes);
  CHECK(changes.find(*id)->changed == 4);
  const View& view = fixture.broker.view();
  // The first at once.
  CHECK(view.orders().count(JobState::kReady) == 1);
  CHECK(view.orders().count(JobState::kScheduled) == 3);
  CHECK(view.orders().count(JobState::kDead) == 0);
  fixture.advance(50s);
  CHECK(view.orders().count(JobState::kReady) == 3);
  fixture.advance(50s);
  CHECK(view.orders().count(JobState::kReady) == 4);
  CHECK(view.orders().count(JobState::kScheduled) == 0);
}

TEST_CASE("bulk changes: a step of the wall clock hides no scheduled job") {
  BrokerFixture fixture;
  BulkChanges changes(fixture.broker);
  for (std::size_t i = 0; i < kSliceChanges; ++i) fixture.schedule("x", 2h);
  for (std::size_t i = 0; i < 2 * kSliceChanges; ++i) {
    fixture.put("y", {.queue = "default", .due = fixture.now + 3h});
  }
  const auto id = changes.start({.states = {JobState::kScheduled}}, fixture.now);
  REQUIRE(id);
  CHECK(changes.work(fixture.now));
  // The jobs of the wall clock come last now, and then first.
  fixture.schedule("z", 2h);
  fixture.broker.set_wall_clock({.ahead = -9h});
  CHECK(changes.work(fixture.now));
  fixture.broker.set_wall_clock({.ahead = 1h});
  finish(fixture, changes);
  CHECK(changes.find(*id)->changed == 3 * kSliceChanges);
  CHECK(fixture.broker.view().orders().count(JobState::kScheduled) == 1);
}

TEST_CASE("bulk changes: as many as the limit run at a time, and one more is refused") {
  BrokerFixture fixture;
  BulkChanges changes(fixture.broker);
  for (std::size_t i = 0; i < BulkChanges::kRunningMax; ++i) {
    REQUIRE(changes.start({.states = {JobState::kReady}}, fixture.now));
  }
  CHECK_FALSE(changes.start({.states = {JobState::kReady}}, fixture.now));
}

TEST_CASE("bulk changes: no more are changed than were counted") {
  BrokerFixture fixture;
  BulkChanges changes(fixture.broker);
  for (int i = 0; i < 5; ++i) fixture.put("x");
  REQUIRE(changes.start({.states = {JobState::kReady}, .bounds = {.changes_max = 3}}, fixture.now));
  finish(fixture, changes);
  CHECK(fixture.broker.view().orders().count(JobState::kReady) == 2);
}

}  // namespace millrace::test
