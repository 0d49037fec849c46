#include "core/broker/jobs/dead_set.hpp"

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("dead set: a pushed job is removed when its time is over") {
  BrokerFixture fixture;
  const JobId id = fixture.push_dead("x");
  fixture.advance(kDeadLimit - 1ns);
  CHECK(fixture.has(id));
  fixture.advance(1ns);
  CHECK_FALSE(fixture.has(id));
  CHECK(fixture.broker.view().tally().dead_purged == 1);
}

TEST_CASE("dead set: a buried job stays") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.put("x");
  CHECK(fixture.reserve(client) == id);
  CHECK(fixture.broker.connections().bury(client, id, 0, fixture.now));
  fixture.advance(2 * kDeadLimit);
  CHECK(fixture.state(id) == JobState::kDead);
}

TEST_CASE("dead set: beyond its size the job that died first is removed") {
  BrokerFixture fixture(Broker::Options{.dead_jobs_max = 2});
  const JobId oldest = fixture.push_dead("a");
  const JobId second = fixture.push_dead("b");
  fixture.settle();
  CHECK(fixture.has(oldest));
  const JobId third = fixture.push_dead("c");
  fixture.settle();
  CHECK_FALSE(fixture.has(oldest));
  CHECK(fixture.has(second));
  CHECK(fixture.has(third));
}

TEST_CASE("dead set: buried jobs do not count") {
  BrokerFixture fixture(Broker::Options{.dead_jobs_max = 1});
  const ClientId client = fixture.client();
  const JobId buried = fixture.put("x");
  CHECK(fixture.reserve(client) == buried);
  CHECK(fixture.broker.connections().bury(client, buried, 0, fixture.now));
  const JobId dead = fixture.push_dead("a");
  fixture.settle();
  CHECK(fixture.has(buried));
  CHECK(fixture.has(dead));
}

TEST_CASE("dead set: is cut down by slices") {
  BrokerFixture fixture;
  for (std::size_t i = 0; i < kSliceJobs + 2; ++i) fixture.push_dead("x");
  fixture.now += kDeadLimit + 1s;
  CHECK(fixture.broker.tick(fixture.now) <= fixture.now);
  CHECK(fixture.broker.view().orders().count(JobState::kDead) == 2);
  fixture.settle();
  CHECK(fixture.broker.view().orders().count(JobState::kDead) == 0);
}

}  // namespace millrace::test
