#include "core/broker/broker.hpp"

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("delete: only the holder deletes a reserved job") {
  BrokerFixture fixture;
  const ClientId holder = fixture.client();
  const ClientId other = fixture.client();
  const JobId id = fixture.put("x");
  CHECK(fixture.reserve(holder) == id);
  CHECK_FALSE(fixture.broker.connections().remove(other, id, fixture.now));
  CHECK(fixture.broker.connections().remove(holder, id, fixture.now));
  CHECK_FALSE(fixture.has(id));
}

TEST_CASE("delete: anybody deletes a ready, delayed or buried job") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId ready = fixture.put("x");
  const JobId delayed = fixture.put("x", {.queue = "default", .due = fixture.now + 1s});
  CHECK(fixture.broker.connections().remove(client, ready, fixture.now));
  CHECK(fixture.broker.connections().remove(client, delayed, fixture.now));
  CHECK_FALSE(fixture.broker.connections().remove(client, delayed, fixture.now));
}

TEST_CASE("bury: a buried job is not reserved") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.put("x");
  CHECK(fixture.reserve(client) == id);
  CHECK(fixture.broker.connections().bury(client, id, 7, fixture.now));
  CHECK(fixture.state(id) == JobState::kDead);
  CHECK(fixture.job(id).pri == 7);
  CHECK(fixture.reserve(client) == std::nullopt);
}

TEST_CASE("touch: the deadline starts anew") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.put("x", {.queue = "default", .ttr_s = 2});
  CHECK(fixture.reserve(client) == id);
  fixture.advance(1s);
  CHECK(fixture.broker.connections().touch(client, id, fixture.now));
  fixture.advance(1500ms);
  CHECK(fixture.state(id) == JobState::kReserved);
  fixture.advance(500ms);
  CHECK(fixture.state(id) == JobState::kReady);
}

TEST_CASE("reserve-job: takes a delayed or buried job, not a reserved one") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.put("x", {.queue = "default", .due = fixture.now + 9s});
  CHECK(fixture.broker.connections().reserve_job(client, id, fixture.now));
  CHECK_FALSE(fixture.broker.connections().reserve_job(client, id, fixture.now));
  CHECK(fixture.broker.connections().bury(client, id, 0, fixture.now));
  CHECK(fixture.broker.connections().reserve_job(client, id, fixture.now));
}

TEST_CASE("kick-job: refuses ready and reserved jobs") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.put("x");
  CHECK_FALSE(fixture.broker.connections().kick_job(id, fixture.now));
  CHECK(fixture.reserve(client) == id);
  CHECK_FALSE(fixture.broker.connections().kick_job(id, fixture.now));
  CHECK(fixture.broker.connections().bury(client, id, 0, fixture.now));
  CHECK(fixture.broker.connections().kick_job(id, fixture.now));
  CHECK(fixture.job(id).tallies().kicks == 1);
}

TEST_CASE("tick: tells when the next thing is due") {
  BrokerFixture fixture;
  fixture.put("x", {.queue = "default", .due = fixture.now + 7s});
  CHECK(fixture.broker.tick(fixture.now) == fixture.now + 7s);
}

}  // namespace millrace::test
