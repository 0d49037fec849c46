#include "core/broker/jobs/dead_set.hpp"

#include "core/bench.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("dead set: a pushed job goes when its time is over") {
  Bench bench;
  const JobId id = bench.push_dead("x");
  bench.advance(kDeadLimit - 1ns);
  CHECK(bench.has(id));
  bench.advance(1ns);
  CHECK_FALSE(bench.has(id));
  CHECK(bench.broker.view().tally().dead_purged == 1);
}

TEST_CASE("dead set: a buried job stays") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.put("x");
  CHECK(bench.reserve(client) == id);
  CHECK(bench.broker.bury(client, id, 0, bench.now));
  bench.advance(2 * kDeadLimit);
  CHECK(bench.state(id) == JobState::kDead);
}

TEST_CASE("dead set: beyond its size the oldest goes") {
  Bench bench(Broker::Options{.dead_jobs_max = 2});
  const JobId oldest = bench.push_dead("a");
  const JobId second = bench.push_dead("b");
  bench.settle();
  CHECK(bench.has(oldest));
  const JobId third = bench.push_dead("c");
  bench.settle();
  CHECK_FALSE(bench.has(oldest));
  CHECK(bench.has(second));
  CHECK(bench.has(third));
}

TEST_CASE("dead set: buried jobs do not count") {
  Bench bench(Broker::Options{.dead_jobs_max = 1});
  const ClientId client = bench.client();
  const JobId buried = bench.put("x");
  CHECK(bench.reserve(client) == buried);
  CHECK(bench.broker.bury(client, buried, 0, bench.now));
  const JobId dead = bench.push_dead("a");
  bench.settle();
  CHECK(bench.has(buried));
  CHECK(bench.has(dead));
}

TEST_CASE("dead set: is cut down by slices") {
  Bench bench;
  for (std::size_t i = 0; i < kSliceJobs + 2; ++i) bench.push_dead("x");
  bench.now += kDeadLimit + 1s;
  CHECK(bench.broker.tick(bench.now) <= bench.now);
  CHECK(bench.broker.view().job_count(JobState::kDead) == 2);
  bench.settle();
  CHECK(bench.broker.view().job_count(JobState::kDead) == 0);
}

TEST_CASE("give back: the job regains its place, and the fetch leaves no trace") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId first = bench.push("a");
  const JobId second = bench.push("b");
  CHECK(bench.fetch(client, "w") == first);
  CHECK(bench.broker.workers().undo_fetch(first, bench.now, bench.now));
  CHECK(bench.job(first).tallies() == Tallies{});
  CHECK(bench.fetch(client, "w") == first);
  CHECK(bench.fetch(client, "w") == second);
  CHECK(bench.broker.view().counters().failed == 0);
}

TEST_CASE("give back: serves who waits") {
  Bench bench;
  const ClientId gone = bench.client();
  const JobId id = bench.push("a");
  CHECK(bench.fetch(gone, "w") == id);
  const ClientId waiting = bench.client();
  CHECK(bench.wait_for(waiting, {"default"}, "other"));
  CHECK(bench.broker.workers().undo_fetch(id, bench.now, bench.now));
  CHECK(bench.delivered(waiting)->job == id);
}

TEST_CASE("give back: another reservation of the job is left alone") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.push("a");
  const Time first_fetch = bench.now;
  CHECK(bench.fetch(client, "w") == id);
  CHECK(bench.broker.workers().fail(client, "j1", {}, bench.now));
  CHECK_FALSE(bench.broker.workers().undo_fetch(id, first_fetch, bench.now));
  CHECK(bench.broker.kick_job(id, bench.now));
  bench.advance(1s);
  CHECK(bench.fetch(client, "w") == id);
  CHECK_FALSE(bench.broker.workers().undo_fetch(id, first_fetch, bench.now));
  CHECK(bench.state(id) == JobState::kReserved);
}

}  // namespace millrace::test
