#include "core/broker/tasks/remove_queues_task.hpp"

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("remove queues: the ready jobs are deleted, and the queue with them") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId gone = fixture.push("a", "mail");
  CHECK(fixture.broker.admin().pause("mail", std::nullopt, fixture.now));
  CHECK(fixture.broker.admin().remove_queues(client, {"mail"}, fixture.now) == 1);
  CHECK_FALSE(fixture.has(gone));
  CHECK(fixture.broker.view().queues().find("mail") == nullptr);
}

TEST_CASE("remove queues: unknown names are passed over") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  fixture.push("a", "mail");
  CHECK(fixture.broker.admin().remove_queues(client, {"none", "mail", "mail"}, fixture.now) == 1);
}

TEST_CASE("remove queues: scheduled, held and dead jobs of the queue stay") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId held = fixture.push("a", "mail");
  CHECK(fixture.fetch(client, "w", {"mail"}) == held);
  const JobId dead = fixture.push_dead("b", "mail");
  const JobId scheduled = fixture.schedule("c", 1h, "mail");
  CHECK(fixture.broker.admin().remove_queues(client, {"mail"}, fixture.now) == 0);
  CHECK(fixture.state(held) == JobState::kReserved);
  CHECK(fixture.state(dead) == JobState::kDead);
  CHECK(fixture.state(scheduled) == JobState::kScheduled);
}

TEST_CASE("remove queues: their pauses end, and a client that waits is served") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  fixture.push("a", "mail");
  CHECK(fixture.broker.admin().pause("mail", std::nullopt, fixture.now));
  CHECK(fixture.wait_for(client, {"mail"}, "w"));
  const ClientId other = fixture.client();
  CHECK(fixture.broker.admin().remove_queues(other, {"mail"}, fixture.now) == 1);
  const JobId id = fixture.push("b", "mail");
  CHECK(fixture.delivered(client)->job == id);
}

TEST_CASE("remove queues: more than a slice continues in ticks, and younger jobs stay") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  for (std::size_t i = 0; i < kSliceJobs + 1; ++i) fixture.push("x", "mail");
  fixture.push("y", "next");
  CHECK_FALSE(fixture.broker.admin().remove_queues(client, {"mail", "next"}, fixture.now));
  const JobId younger = fixture.push("z", "mail");
  fixture.settle();
  CHECK(fixture.delivered(client)->count == kSliceJobs + 2);
  CHECK(fixture.state(younger) == JobState::kReady);
  CHECK(fixture.broker.view().queues().find("next") == nullptr);
}

}  // namespace millrace::test
