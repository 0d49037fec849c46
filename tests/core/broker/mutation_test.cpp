#include <vector>

#include "core/bench.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

using Action = Mutation::Action;

std::function<Match(const Job&, const Queue&, Steps&)> body_is(std::string_view body) {
  return [body](const Job& job, const Queue&, Steps&) {
    return job.body_view() == body ? Match::kYes : Match::kNo;
  };
}

void schedule_many(Bench& bench, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) bench.schedule("x", 1h);
}

}  // namespace

// ---- mutate -------------------------------------------------------------------------------------

TEST_CASE("mutate: discard removes what matches, and only in that set") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId scheduled = bench.schedule("a", 1h);
  const JobId other = bench.schedule("b", 1h);
  const JobId ready = bench.push("a");
  CHECK(bench.broker.admin().mutate(
            client,
            {.set = JobState::kScheduled, .action = Action::kDiscard, .matches = body_is("a")},
            bench.now) == 1);
  CHECK_FALSE(bench.has(scheduled));
  CHECK(bench.state(other) == JobState::kScheduled);
  CHECK(bench.state(ready) == JobState::kReady);
}

TEST_CASE("mutate: without a filter it is about all") {
  Bench bench;
  const ClientId client = bench.client();
  bench.push_dead("a");
  bench.push_dead("b");
  CHECK(bench.broker.admin().mutate(client, {.set = JobState::kDead}, bench.now) == 2);
  CHECK(bench.broker.view().job_count(JobState::kDead) == 0);
}

TEST_CASE("mutate: an empty set is no work") {
  Bench bench;
  CHECK(bench.broker.admin().mutate(bench.client(), {.set = JobState::kRetrying}, bench.now) == 0);
}

TEST_CASE("mutate: kill buries") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.schedule("a", 1h);
  const Mutation kill{.set = JobState::kScheduled, .action = Action::kKill};
  CHECK(bench.broker.admin().mutate(client, kill, bench.now) == 1);
  CHECK(bench.state(id) == JobState::kDead);
  CHECK(bench.job(id).tallies().buries == 1);
}

TEST_CASE("mutate: killing dead jobs renews their time of death, once each") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId first = bench.push_dead("a");
  const JobId second = bench.push_dead("b");
  bench.advance(1h);
  const Mutation kill{.set = JobState::kDead, .action = Action::kKill};
  CHECK(bench.broker.admin().mutate(client, kill, bench.now) == 2);
  CHECK(bench.job(first).when == bench.now);
  CHECK(bench.job(second).when > bench.job(first).when);
}

TEST_CASE("mutate: requeue kicks, and serves who waits") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.push_dead("a", "mail");
  const ClientId worker = bench.client();
  CHECK(bench.wait_for(worker, {"mail"}, "w"));
  const Mutation requeue{.set = JobState::kDead, .action = Action::kRequeue};
  CHECK(bench.broker.admin().mutate(client, requeue, bench.now) == 1);
  CHECK(bench.delivered(worker)->job == id);
  CHECK(bench.job(id).tallies().kicks == 1);
}

TEST_CASE("mutate: more than a slice goes on in ticks, and its end is told") {
  Bench bench;
  const ClientId client = bench.client();
  schedule_many(bench, 2 * kSliceChanges + 1);
  CHECK_FALSE(bench.broker.admin().mutate(client, {.set = JobState::kScheduled}, bench.now));
  CHECK(bench.broker.view().job_count(JobState::kScheduled) == kSliceChanges + 1);
  bench.broker.tick(bench.now);
  CHECK(bench.broker.view().job_count(JobState::kScheduled) == 1);
  bench.settle();
  CHECK(bench.delivered(client)->count == 2 * kSliceChanges + 1);
}

TEST_CASE("mutate: a slice that reads large bodies ends early") {
  Bench bench;
  const ClientId client = bench.client();
  const std::string body(kSliceBodyBytes, 'x');
  bench.schedule(body, 1h);
  bench.schedule(body, 1h);
  const Mutation mutation{.set = JobState::kScheduled,
                          .matches = [](const Job&, const Queue&, Steps&) { return Match::kYes; }};
  CHECK_FALSE(bench.broker.admin().mutate(client, mutation, bench.now));
  CHECK(bench.broker.view().job_count(JobState::kScheduled) == 1);
}

TEST_CASE("mutate: a job that takes many slices to compare is asked about until it is clear") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId first = bench.schedule("a", 1h);
  bench.schedule("b", 2h);
  std::vector<JobId> asked;
  const auto slowly = [&](const Job& job, const Queue&, Steps& steps) {
    asked.push_back(job.id);
    steps.spend(kSliceSteps);
    return asked.size() < 3 ? Match::kUnfinished : Match::kYes;
  };
  CHECK_FALSE(bench.broker.admin().mutate(client, {.set = JobState::kScheduled, .matches = slowly},
                                          bench.now));
  CHECK(asked == std::vector<JobId>{first});
  bench.settle();
  CHECK(asked == std::vector<JobId>{first, first, first, first + 1});
  CHECK(bench.delivered(client)->count == 2);
}

TEST_CASE("mutate: a job that goes before it is compared holds up nothing") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId first = bench.schedule("a", 1h);
  const JobId second = bench.schedule("b", 2h);
  const auto slowly = [first](const Job& job, const Queue&, Steps&) {
    return job.id == first ? Match::kUnfinished : Match::kYes;
  };
  CHECK_FALSE(bench.broker.admin().mutate(client, {.set = JobState::kScheduled, .matches = slowly},
                                          bench.now));
  CHECK(bench.broker.remove(client, first, bench.now));
  bench.settle();
  CHECK_FALSE(bench.has(second));
  CHECK(bench.delivered(client)->count == 1);
}

TEST_CASE("mutate: what comes meanwhile stays") {
  Bench bench;
  const ClientId client = bench.client();
  schedule_many(bench, kSliceChanges + 1);
  CHECK_FALSE(bench.broker.admin().mutate(client, {.set = JobState::kScheduled}, bench.now));
  const JobId late = bench.schedule("late", 30min);
  const JobId later = bench.schedule("later", 2h);
  bench.settle();
  CHECK(bench.broker.view().job_count(JobState::kScheduled) == 2);
  CHECK(bench.has(late));
  CHECK(bench.has(later));
}

TEST_CASE("mutate: a requeued job that fails again meanwhile is not requeued twice") {
  Bench bench;
  const ClientId client = bench.client();
  const ClientId worker = bench.client();
  const std::size_t count = kSliceChanges + 1;
  for (std::size_t i = 0; i < count; ++i) {
    const JobId id = bench.push("x");
    CHECK(bench.fetch(worker, "w") == id);
    CHECK(bench.broker.workers().fail(worker, "j" + std::to_string(id), {}, bench.now));
  }
  const Mutation requeue{.set = JobState::kRetrying, .action = Action::kRequeue};
  CHECK_FALSE(bench.broker.admin().mutate(client, requeue, bench.now));
  const JobId again = *bench.fetch(worker, "w");
  CHECK(bench.broker.workers().fail(worker, "j" + std::to_string(again), {}, bench.now));
  bench.settle();
  CHECK(bench.state(again) == JobState::kRetrying);
  CHECK(bench.delivered(client)->count == count);
}

TEST_CASE("mutate: goes on when its client has left") {
  Bench bench;
  const ClientId client = bench.client();
  schedule_many(bench, kSliceChanges + 1);
  CHECK_FALSE(bench.broker.admin().mutate(client, {.set = JobState::kScheduled}, bench.now));
  bench.leave(client);
  bench.settle();
  CHECK(bench.broker.view().job_count(JobState::kScheduled) == 0);
}

// ---- remove queues ------------------------------------------------------------------------------

TEST_CASE("remove queues: what is ready goes, and the queue with it") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId gone = bench.push("a", "mail");
  CHECK(bench.broker.admin().pause("mail", std::nullopt, bench.now));
  CHECK(bench.broker.admin().remove_queues(client, {"mail"}, bench.now) == 1);
  CHECK_FALSE(bench.has(gone));
  CHECK(bench.broker.view().find_queue("mail") == nullptr);
}

TEST_CASE("remove queues: unknown names are passed over") {
  Bench bench;
  const ClientId client = bench.client();
  bench.push("a", "mail");
  CHECK(bench.broker.admin().remove_queues(client, {"none", "mail", "mail"}, bench.now) == 1);
}

TEST_CASE("remove queues: scheduled, held and dead jobs of the queue stay") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId held = bench.push("a", "mail");
  CHECK(bench.fetch(client, "w", {"mail"}) == held);
  const JobId dead = bench.push_dead("b", "mail");
  const JobId scheduled = bench.schedule("c", 1h, "mail");
  CHECK(bench.broker.admin().remove_queues(client, {"mail"}, bench.now) == 0);
  CHECK(bench.state(held) == JobState::kReserved);
  CHECK(bench.state(dead) == JobState::kDead);
  CHECK(bench.state(scheduled) == JobState::kScheduled);
}

TEST_CASE("remove queues: ends their pauses, and serves who waits") {
  Bench bench;
  const ClientId client = bench.client();
  bench.push("a", "mail");
  CHECK(bench.broker.admin().pause("mail", std::nullopt, bench.now));
  CHECK(bench.wait_for(client, {"mail"}, "w"));
  const ClientId other = bench.client();
  CHECK(bench.broker.admin().remove_queues(other, {"mail"}, bench.now) == 1);
  const JobId id = bench.push("b", "mail");
  CHECK(bench.delivered(client)->job == id);
}

TEST_CASE("remove queues: more than a slice goes on in ticks, and younger jobs stay") {
  Bench bench;
  const ClientId client = bench.client();
  for (std::size_t i = 0; i < kSliceJobs + 1; ++i) bench.push("x", "mail");
  bench.push("y", "next");
  CHECK_FALSE(bench.broker.admin().remove_queues(client, {"mail", "next"}, bench.now));
  const JobId younger = bench.push("z", "mail");
  bench.settle();
  CHECK(bench.delivered(client)->count == kSliceJobs + 2);
  CHECK(bench.state(younger) == JobState::kReady);
  CHECK(bench.broker.view().find_queue("next") == nullptr);
}

}  // namespace millrace::test
