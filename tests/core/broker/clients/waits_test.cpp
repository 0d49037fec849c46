#include "core/broker/clients/waits.hpp"

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("wait: the client that came first is served first") {
  BrokerFixture fixture;
  const ClientId first = fixture.client();
  const ClientId second = fixture.client();
  CHECK(fixture.wait(first));
  CHECK(fixture.wait(second));
  const JobId id = fixture.put("x");
  CHECK(fixture.delivered(first)->job == id);
  CHECK_FALSE(fixture.delivered(second));
}

TEST_CASE("wait: ends when its time is over") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  CHECK(fixture.wait(client, 2s));
  fixture.advance(1999ms);
  CHECK_FALSE(fixture.delivered(client));
  fixture.advance(1ms);
  CHECK(fixture.delivered(client)->kind == Delivery::Kind::kTimedOut);
}

TEST_CASE("wait: a job that comes due in the last moment is not missed") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  fixture.put("x", {.queue = "default", .due = fixture.now + 2s});
  CHECK(fixture.wait(client, 2s));
  fixture.advance(2s);
  CHECK(fixture.delivered(client)->kind == Delivery::Kind::kJob);
}

TEST_CASE("wait: a holder is told when its deadline is near") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  fixture.put("x", {.queue = "default", .ttr_s = 3});
  CHECK(fixture.reserve(client));
  CHECK(fixture.wait(client));
  fixture.advance(1999ms);
  CHECK_FALSE(fixture.delivered(client));
  fixture.advance(1ms);
  CHECK(fixture.delivered(client)->kind == Delivery::Kind::kDeadlineSoon);
}

TEST_CASE("wait: in the safety margin the answer comes at once, unless there is a job") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  fixture.put("x", {.queue = "default", .ttr_s = 1});
  CHECK(fixture.reserve(client));
  const auto soon = fixture.broker.reserve(client, {.wait_until = kNever}, fixture.now);
  CHECK(soon->kind == Delivery::Kind::kDeadlineSoon);
  fixture.put("y");
  CHECK(fixture.reserve(client));
}

TEST_CASE("wait: touched after DEADLINE_SOON, the job still expires") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.put("x", {.queue = "default", .ttr_s = 5});
  CHECK(fixture.reserve(client));
  fixture.advance(2s);
  CHECK(fixture.wait(client, 3s));
  fixture.advance(2s);
  CHECK(fixture.delivered(client)->kind == Delivery::Kind::kDeadlineSoon);
  CHECK(fixture.broker.connections().touch(client, id, fixture.now));
  fixture.advance(5s);
  CHECK(fixture.state(id) == JobState::kReady);
}

TEST_CASE("wait: a client that gave up gets nothing") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  CHECK(fixture.wait(client));
  fixture.broker.stop_waiting(client);
  const JobId id = fixture.put("x");
  CHECK_FALSE(fixture.delivered(client));
  CHECK(fixture.state(id) == JobState::kReady);
}

TEST_CASE("wait: on a queue that does not exist yet, and twice the same one") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  CHECK(fixture.wait_for(client, {"new", "new"}, "w"));
  const JobId id = fixture.push("x", "new");
  CHECK(fixture.delivered(client)->job == id);
}

TEST_CASE("wait: a queue that was only waited for ends with the wait") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  CHECK(fixture.wait_for(client, {"new", "new"}, "w", 1s));
  fixture.advance(1s);
  CHECK(fixture.broker.view().queues().find("new") == nullptr);
}

TEST_CASE("wait: more clients than a slice are served by further ticks") {
  BrokerFixture fixture;
  fixture.broker.admin().pause("default", 1, fixture.now).value();
  for (std::size_t i = 0; i < kSliceJobs + 1; ++i) {
    fixture.put("x");
    CHECK(fixture.wait(fixture.client()));
  }
  fixture.now += 1s;
  CHECK(fixture.broker.tick(fixture.now) <= fixture.now);
  CHECK(fixture.broker.view().tally().waiting == 1);
  fixture.settle();
  CHECK(fixture.broker.view().tally().waiting == 0);
  CHECK(fixture.broker.view().orders().count(JobState::kReserved) == kSliceJobs + 1);
}

}  // namespace millrace::test
