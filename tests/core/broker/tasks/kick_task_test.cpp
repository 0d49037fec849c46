#include "core/broker/tasks/kick_task.hpp"

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("kick: buried jobs first, oldest first, delayed ones only when none is buried") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId a = fixture.put("a");
  const JobId b = fixture.put("b");
  const JobId later = fixture.put("c", {.queue = "default", .due = fixture.now + 99s});
  CHECK(fixture.reserve(client) == a);
  CHECK(fixture.reserve(client) == b);
  CHECK(fixture.broker.connections().bury(client, b, 0, fixture.now));
  CHECK(fixture.broker.connections().bury(client, a, 0, fixture.now));
  CHECK(fixture.broker.connections().kick(client, 1, fixture.now) == 1);
  CHECK(fixture.state(b) == JobState::kReady);
  CHECK(fixture.broker.connections().kick(client, 9, fixture.now) == 1);
  CHECK(fixture.state(later) == JobState::kScheduled);
  CHECK(fixture.broker.connections().kick(client, 9, fixture.now) == 1);
  CHECK(fixture.state(later) == JobState::kReady);
}

TEST_CASE("kick: a buried job that cannot come back hides none that died after it") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const auto push_unique = [&] {
    NewJob job{.kind = JobKind::kWorkUnit, .queue = "default", .ttr_s = 60};
    job.features = JobFeatures{
        .lock_key = {.high = 1, .low = 2}, .lock_ends = fixture.now + 1h, .lock_seconds = 3600};
    return fixture.put("u", job);
  };
  const JobId stays = push_unique();
  CHECK(fixture.broker.admin().change(stays, Mutation::Action::kKill, fixture.now));
  push_unique();
  const JobId next = fixture.push_dead("x");
  CHECK(fixture.broker.connections().kick(client, 1, fixture.now) == 1);
  CHECK(fixture.state(next) == JobState::kReady);
  CHECK(fixture.state(stays) == JobState::kDead);
}

TEST_CASE("kick: more than a slice continues in ticks, and its end is delivered") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  for (std::size_t i = 0; i < kSliceJobs + 1; ++i) {
    fixture.put("x", {.queue = "default", .due = fixture.now + 99s});
  }
  CHECK(fixture.broker.connections().kick(client, 1'000'000, fixture.now) == std::nullopt);
  CHECK_FALSE(fixture.delivered(client));
  fixture.settle();
  CHECK(fixture.delivered(client)->count == kSliceJobs + 1);
}

}  // namespace millrace::test
