#include "core/broker/tasks/flush_task.hpp"

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("flush: queues that are pushed to meanwhile stay") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  for (std::size_t i = 0; i < kSliceJobs; ++i) fixture.push("x", "old");
  fixture.push("x", "gone");
  CHECK_FALSE(fixture.broker.admin().flush(client, fixture.now));
  fixture.push("y", "old");
  fixture.push("y", "young");
  fixture.settle();
  const View& view = fixture.broker.view();
  CHECK(view.queues().find("gone") == nullptr);
  CHECK(view.queues().find("old")->is_kept);
  CHECK(view.queues().find("young")->is_kept);
}

TEST_CASE("flush: removes everything in every state, and nothing that comes later") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  for (std::size_t i = 0; i < kSliceJobs; ++i) fixture.push("x", "mail");
  fixture.put("x", {.queue = "default", .due = fixture.now + 99s});
  CHECK(fixture.fetch(client, "w", {"mail"}));
  CHECK_FALSE(fixture.broker.admin().flush(client, fixture.now));
  const JobId young = fixture.put("young");
  fixture.settle();
  CHECK(fixture.delivered(client)->kind == Delivery::Kind::kFinished);
  CHECK(fixture.has(young));
  CHECK(fixture.broker.view().orders().count(JobState::kReady) == 1);
  CHECK(fixture.broker.view().orders().count(JobState::kReserved) == 0);
  CHECK(fixture.broker.view().orders().count(JobState::kScheduled) == 0);
  CHECK(fixture.broker.view().queues().find("mail") == nullptr);
}

}  // namespace millrace::test
