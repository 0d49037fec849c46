#include "core/broker/worker_operations.hpp"

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("ack: finishes the job and counts it") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.push("x");
  CHECK(fixture.fetch(client, "w") == id);
  CHECK(fixture.broker.workers().ack(client, "j1", fixture.now));
  CHECK_FALSE(fixture.has(id));
  CHECK_FALSE(fixture.broker.workers().ack(client, "j1", fixture.now));
  CHECK(fixture.broker.view().counters().processed == 1);
}

TEST_CASE("ack: refused for a job that nobody holds") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  fixture.push("x");
  CHECK_FALSE(fixture.broker.workers().ack(client, "j1", fixture.now));
}

TEST_CASE("ack: of two jobs of one name, the one that this worker holds") {
  BrokerFixture fixture;
  const ClientId one = fixture.client();
  const ClientId two = fixture.client();
  CHECK(fixture.broker.workers().add(one, {.wid = "one"}, fixture.now));
  CHECK(fixture.broker.workers().add(two, {.wid = "two"}, fixture.now));
  const JobId first = fixture.push("jid=same,1");
  const JobId second = fixture.push("jid=same,2");
  CHECK(fixture.fetch(one, "one") == first);
  CHECK(fixture.fetch(two, "two") == second);
  CHECK(fixture.broker.workers().ack(two, "same", fixture.now));
  CHECK(fixture.has(first));
  CHECK_FALSE(fixture.has(second));
}

TEST_CASE("fail: a job that is given back is ready at once, and no failure is counted") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId first = fixture.push("a");
  const JobId second = fixture.push("b");
  CHECK(fixture.fetch(client, "w") == first);
  CHECK(fixture.broker.workers().fail(client, "j1", {.end = AttemptEnd::kReleased}, fixture.now));
  CHECK(fixture.job(first).state == JobState::kReady);
  CHECK(fixture.job(first).failure() == nullptr);
  CHECK(fixture.job(first).tallies() == Tallies{.reserves = 1, .releases = 1});
  CHECK(fixture.broker.view().counters().processed == 0);
  CHECK(fixture.broker.view().counters().failed == 0);
  REQUIRE(fixture.broker.view().jobs().attempts_of(fixture.job(first)) != nullptr);
  CHECK(fixture.broker.view().jobs().attempts_of(fixture.job(first))->list.back().end ==
        AttemptEnd::kReleased);
  CHECK_FALSE(fixture.broker.workers().ack(client, "j1", fixture.now));
  CHECK(fixture.fetch(client, "w") == second);
  CHECK(fixture.fetch(client, "w") == first);
}

TEST_CASE("fail: a client that waits is handed the job that is given back") {
  BrokerFixture fixture;
  const ClientId stopping = fixture.client();
  const JobId id = fixture.push("a");
  CHECK(fixture.fetch(stopping, "w") == id);
  const ClientId waiting = fixture.client();
  CHECK(fixture.wait_for(waiting, {"default"}, "other"));
  CHECK(fixture.broker.workers().fail(stopping, "j1", {.end = AttemptEnd::kReleased}, fixture.now));
  CHECK(fixture.job(id).reservation()->wid == "other");
}

TEST_CASE("undo fetch: the job regains its place, and the fetch leaves no trace") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId first = fixture.push("a");
  const JobId second = fixture.push("b");
  CHECK(fixture.fetch(client, "w") == first);
  CHECK(fixture.broker.workers().undo_fetch(first, fixture.now, fixture.now));
  CHECK(fixture.job(first).tallies() == Tallies{});
  CHECK(fixture.fetch(client, "w") == first);
  CHECK(fixture.fetch(client, "w") == second);
  CHECK(fixture.broker.view().counters().failed == 0);
}

TEST_CASE("undo fetch: a client that waits is served") {
  BrokerFixture fixture;
  const ClientId gone = fixture.client();
  const JobId id = fixture.push("a");
  CHECK(fixture.fetch(gone, "w") == id);
  const ClientId waiting = fixture.client();
  CHECK(fixture.wait_for(waiting, {"default"}, "other"));
  CHECK(fixture.broker.workers().undo_fetch(id, fixture.now, fixture.now));
  CHECK(fixture.delivered(waiting)->job == id);
}

TEST_CASE("undo fetch: another reservation of the job is left alone") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.push("a");
  const Time first_fetch = fixture.now;
  CHECK(fixture.fetch(client, "w") == id);
  CHECK(fixture.broker.workers().fail(client, "j1", {}, fixture.now));
  CHECK_FALSE(fixture.broker.workers().undo_fetch(id, first_fetch, fixture.now));
  CHECK(fixture.broker.connections().kick_job(id, fixture.now));
  fixture.advance(1s);
  CHECK(fixture.fetch(client, "w") == id);
  CHECK_FALSE(fixture.broker.workers().undo_fetch(id, first_fetch, fixture.now));
  CHECK(fixture.state(id) == JobState::kReserved);
}

}  // namespace millrace::test
