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
  CHECK(fixture.broker.view().job_count(JobState::kReady) == kSliceJobs);
  CHECK(fixture.broker.tick(fixture.now) == kNever);
  CHECK(fixture.broker.view().job_count(JobState::kScheduled) == 0);
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
  CHECK(fixture.broker.view().job_count(JobState::kReady) == 2);
  CHECK(fixture.broker.view().tally().scheduled_enqueued == 1);
  CHECK(fixture.broker.view().tally().retries_enqueued == 1);
}

}  // namespace millrace::test
