#include "core/broker/jobs/schedule.hpp"

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("schedule: a tick moves at most a slice of the jobs that are due") {
  BrokerFixture fixture;
  for (std::size_t i = 0; i < kSliceJobs + 1; ++i) {
    fixture.put("x", {.queue = "default", .due = fixture.now + 1s});
  }
  fixture.now += 1s;
  CHECK(fixture.broker.tick(fixture.now) <= fixture.now);
  CHECK(fixture.broker.view().orders().count(JobState::kReady) == kSliceJobs);
  CHECK(fixture.broker.tick(fixture.now) == kNever);
  CHECK(fixture.broker.view().orders().count(JobState::kScheduled) == 0);
}

TEST_CASE("schedule: a scheduled and a retrying job are counted apart when they come due") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  CHECK(fixture.fetch(client, "w") == std::nullopt);
  const JobId failed = fixture.push("x");
  CHECK(fixture.fetch(client, "w") == failed);
  CHECK(fixture.broker.workers().fail(client, "j1", {}, fixture.now));
  fixture.schedule("y", 1h);
  fixture.advance(1h);
  CHECK(fixture.broker.view().orders().count(JobState::kReady) == 2);
  CHECK(fixture.broker.view().tally().scheduled_enqueued == 1);
  CHECK(fixture.broker.view().tally().retries_enqueued == 1);
}

TEST_CASE("schedule: a wall clock set forward makes jobs with a time due, and no delayed ones") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId delayed = fixture.put("x", {.queue = "default", .due = fixture.now + 1h});
  const JobId later = fixture.schedule("y", 6h);
  const JobId timed = fixture.schedule("z", 5h);
  fixture.broker.set_wall_clock({.ahead = 5h});
  CHECK(fixture.broker.tick(fixture.now) == fixture.now + 1h);
  CHECK(fixture.state(delayed) == JobState::kScheduled);
  CHECK(fixture.state(later) == JobState::kScheduled);
  CHECK(fixture.reserve(client) == timed);
}

TEST_CASE("schedule: a wall clock set back makes jobs with a time wait, and no delayed ones") {
  BrokerFixture fixture;
  const JobId delayed = fixture.put("x", {.queue = "default", .due = fixture.now + 1h});
  const JobId timed = fixture.schedule("y", 1h);
  fixture.broker.set_wall_clock({.ahead = -5h});
  fixture.advance(1h);
  CHECK(fixture.state(delayed) == JobState::kReady);
  CHECK(fixture.state(timed) == JobState::kScheduled);
  CHECK(fixture.broker.tick(fixture.now) == fixture.now + 5h);
  fixture.advance(5h);
  CHECK(fixture.state(timed) == JobState::kReady);
}

TEST_CASE("schedule: a job is pushed by the wall clock as it is") {
  BrokerFixture fixture;
  fixture.broker.set_wall_clock({.ahead = 5h});
  CHECK(fixture.state(fixture.schedule("x", 5h)) == JobState::kReady);
  const JobId id = fixture.schedule("y", 6h);
  CHECK(fixture.state(id) == JobState::kScheduled);
  CHECK(fixture.broker.tick(fixture.now) == fixture.now + 1h);
}

TEST_CASE("schedule: the delay of a released work unit, a retry and a TTR are elapsed time") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId released = fixture.push("x");
  CHECK(fixture.reserve(client) == released);
  CHECK(fixture.broker.connections().release(client, released, 0, 600, fixture.now));
  const JobId failed = fixture.push("y");
  CHECK(fixture.fetch(client, "w") == failed);
  CHECK(fixture.broker.workers().fail(client, "j" + std::to_string(failed), {}, fixture.now));
  const JobId held = fixture.put("z", {.queue = "default", .ttr_s = 60});
  CHECK(fixture.reserve(client) == held);
  fixture.broker.set_wall_clock({.ahead = 24h});
  fixture.settle();
  CHECK(fixture.state(released) == JobState::kScheduled);
  CHECK(fixture.state(failed) == JobState::kRetrying);
  CHECK(fixture.state(held) == JobState::kReserved);
}

}  // namespace millrace::test
