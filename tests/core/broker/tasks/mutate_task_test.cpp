#include "core/broker/tasks/mutate_task.hpp"

#include <string>
#include <vector>

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

using Action = Mutation::Action;

std::function<Match(const Job&, const Queue&, Steps&)> body_is(std::string_view body) {
  return [body](const Job& job, const Queue&, Steps&) {
    return job.body_view() == body ? Match::kYes : Match::kNo;
  };
}

void schedule_many(BrokerFixture& fixture, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) fixture.schedule("x", 1h);
}

}  // namespace

TEST_CASE("mutate: discard removes the jobs that match, and only in that set") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId scheduled = fixture.schedule("a", 1h);
  const JobId other = fixture.schedule("b", 1h);
  const JobId ready = fixture.push("a");
  CHECK(fixture.broker.admin().mutate(
            client,
            {.set = JobState::kScheduled, .action = Action::kDiscard, .matches = body_is("a")},
            fixture.now) == 1);
  CHECK_FALSE(fixture.has(scheduled));
  CHECK(fixture.state(other) == JobState::kScheduled);
  CHECK(fixture.state(ready) == JobState::kReady);
}

TEST_CASE("mutate: without a filter it changes all") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  fixture.push_dead("a");
  fixture.push_dead("b");
  CHECK(fixture.broker.admin().mutate(client, {.set = JobState::kDead}, fixture.now) == 2);
  CHECK(fixture.broker.view().orders().count(JobState::kDead) == 0);
}

TEST_CASE("mutate: an empty set is no work") {
  BrokerFixture fixture;
  CHECK(fixture.broker.admin().mutate(fixture.client(), {.set = JobState::kRetrying},
                                      fixture.now) == 0);
}

TEST_CASE("mutate: kill buries") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.schedule("a", 1h);
  const Mutation kill{.set = JobState::kScheduled, .action = Action::kKill};
  CHECK(fixture.broker.admin().mutate(client, kill, fixture.now) == 1);
  CHECK(fixture.state(id) == JobState::kDead);
  CHECK(fixture.job(id).tallies().buries == 1);
}

TEST_CASE("mutate: killing dead jobs renews their time of death, once each") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId first = fixture.push_dead("a");
  const JobId second = fixture.push_dead("b");
  fixture.advance(1h);
  const Mutation kill{.set = JobState::kDead, .action = Action::kKill};
  CHECK(fixture.broker.admin().mutate(client, kill, fixture.now) == 2);
  CHECK(fixture.job(first).when == fixture.now);
  CHECK(fixture.job(second).when > fixture.job(first).when);
}

TEST_CASE("mutate: requeue kicks, and a client that waits is served") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.push_dead("a", "mail");
  const ClientId worker = fixture.client();
  CHECK(fixture.wait_for(worker, {"mail"}, "w"));
  const Mutation requeue{.set = JobState::kDead, .action = Action::kRequeue};
  CHECK(fixture.broker.admin().mutate(client, requeue, fixture.now) == 1);
  CHECK(fixture.delivered(worker)->job == id);
  CHECK(fixture.job(id).tallies().kicks == 1);
}

TEST_CASE("mutate: more than a slice continues in ticks, and its end is delivered") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  schedule_many(fixture, 2 * kSliceChanges + 1);
  CHECK_FALSE(fixture.broker.admin().mutate(client, {.set = JobState::kScheduled}, fixture.now));
  CHECK(fixture.broker.view().orders().count(JobState::kScheduled) == kSliceChanges + 1);
  fixture.broker.tick(fixture.now);
  CHECK(fixture.broker.view().orders().count(JobState::kScheduled) == 1);
  fixture.settle();
  CHECK(fixture.delivered(client)->count == 2 * kSliceChanges + 1);
}

TEST_CASE("mutate: requeued jobs enter in the order in which they were due") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId timed = fixture.schedule("a", 2h);
  const JobId released = fixture.push("b");
  CHECK(fixture.reserve(client) == released);
  CHECK(fixture.broker.connections().release(client, released, 0, 3600, fixture.now));
  const Mutation requeue{.set = JobState::kScheduled, .action = Action::kRequeue};
  SUBCASE("by the wall clock as it was") {
    CHECK(fixture.broker.admin().mutate(client, requeue, fixture.now) == 2);
    CHECK(fixture.reserve(client) == released);
  }
  SUBCASE("and after it was set") {
    fixture.broker.set_wall_clock({.ahead = 90min});
    CHECK(fixture.broker.admin().mutate(client, requeue, fixture.now) == 2);
    CHECK(fixture.reserve(client) == timed);
  }
}

TEST_CASE("mutate: a step of the wall clock meanwhile hides no job") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  schedule_many(fixture, kSliceChanges);
  for (std::size_t i = 0; i < kSliceChanges; ++i) {
    fixture.put("y", {.queue = "default", .due = fixture.now + 2h});
  }
  // Every other job is skipped, so that its place is in the middle of both orders.
  const auto is_even = [](const Job& job, const Queue&, Steps&) {
    return job.id % 2 == 0 ? Match::kYes : Match::kNo;
  };
  const Mutation mutation{.set = JobState::kScheduled, .matches = is_even};
  CHECK_FALSE(fixture.broker.admin().mutate(client, mutation, fixture.now));
  fixture.broker.set_wall_clock({.ahead = -9h});
  fixture.settle();
  CHECK(fixture.delivered(client)->count == kSliceChanges);
}

TEST_CASE("mutate: a slice that reads large bodies ends early") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const std::string body(kSliceBodyBytes, 'x');
  fixture.schedule(body, 1h);
  fixture.schedule(body, 1h);
  const Mutation mutation{.set = JobState::kScheduled,
                          .matches = [](const Job&, const Queue&, Steps&) { return Match::kYes; }};
  CHECK_FALSE(fixture.broker.admin().mutate(client, mutation, fixture.now));
  CHECK(fixture.broker.view().orders().count(JobState::kScheduled) == 1);
}

TEST_CASE("mutate: a job that takes many slices to compare is asked about until it is clear") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId first = fixture.schedule("a", 1h);
  fixture.schedule("b", 2h);
  std::vector<JobId> asked;
  const auto slowly = [&](const Job& job, const Queue&, Steps& steps) {
    asked.push_back(job.id);
    steps.use_up(kSliceSteps);
    return asked.size() < 3 ? Match::kUnfinished : Match::kYes;
  };
  CHECK_FALSE(fixture.broker.admin().mutate(
      client, {.set = JobState::kScheduled, .matches = slowly}, fixture.now));
  CHECK(asked == std::vector<JobId>{first});
  fixture.settle();
  CHECK(asked == std::vector<JobId>{first, first, first, first + 1});
  CHECK(fixture.delivered(client)->count == 2);
}

TEST_CASE("mutate: a job that is removed before it is compared delays nothing") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId first = fixture.schedule("a", 1h);
  const JobId second = fixture.schedule("b", 2h);
  const auto slowly = [first](const Job& job, const Queue&, Steps&) {
    return job.id == first ? Match::kUnfinished : Match::kYes;
  };
  CHECK_FALSE(fixture.broker.admin().mutate(
      client, {.set = JobState::kScheduled, .matches = slowly}, fixture.now));
  CHECK(fixture.broker.connections().remove(client, first, fixture.now));
  fixture.settle();
  CHECK_FALSE(fixture.has(second));
  CHECK(fixture.delivered(client)->count == 1);
}

TEST_CASE("mutate: jobs that come meanwhile stay") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  schedule_many(fixture, kSliceChanges + 1);
  CHECK_FALSE(fixture.broker.admin().mutate(client, {.set = JobState::kScheduled}, fixture.now));
  const JobId late = fixture.schedule("late", 30min);
  const JobId later = fixture.schedule("later", 2h);
  fixture.settle();
  CHECK(fixture.broker.view().orders().count(JobState::kScheduled) == 2);
  CHECK(fixture.has(late));
  CHECK(fixture.has(later));
}

TEST_CASE("mutate: a requeued job that fails again meanwhile is not requeued twice") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const ClientId worker = fixture.client();
  const std::size_t count = kSliceChanges + 1;
  for (std::size_t i = 0; i < count; ++i) {
    const JobId id = fixture.push("x");
    CHECK(fixture.fetch(worker, "w") == id);
    CHECK(fixture.broker.workers().fail(worker, "j" + std::to_string(id), {}, fixture.now));
  }
  const Mutation requeue{.set = JobState::kRetrying, .action = Action::kRequeue};
  CHECK_FALSE(fixture.broker.admin().mutate(client, requeue, fixture.now));
  const JobId again = *fixture.fetch(worker, "w");
  CHECK(fixture.broker.workers().fail(worker, "j" + std::to_string(again), {}, fixture.now));
  fixture.settle();
  CHECK(fixture.state(again) == JobState::kRetrying);
  CHECK(fixture.delivered(client)->count == count);
}

TEST_CASE("mutate: continues when its client has left") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  schedule_many(fixture, kSliceChanges + 1);
  CHECK_FALSE(fixture.broker.admin().mutate(client, {.set = JobState::kScheduled}, fixture.now));
  fixture.leave(client);
  fixture.settle();
  CHECK(fixture.broker.view().orders().count(JobState::kScheduled) == 0);
}

}  // namespace millrace::test
