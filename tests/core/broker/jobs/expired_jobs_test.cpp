#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

struct Expiring : BrokerFixture {
  ClientId worker = client();

  JobId push(Duration expires_in, Duration in = {}, std::string_view body = "") {
    NewJob job{.kind = JobKind::kWorkUnit, .queue = "default", .body = body, .ttr_s = 60};
    if (in > Duration{}) job.due = now + in;
    job.features = JobFeatures{.expires_at = now + expires_in};
    const auto id = broker.put(job, now);
    REQUIRE(id);
    return *id;
  }
  JobId push_plain() { return BrokerFixture::push(""); }
  [[nodiscard]] std::uint64_t expired() const { return broker.view().tally().jobs_expired; }
};

TEST_CASE("expired jobs: one is removed when its time is over, wherever it waits") {
  Expiring jobs;
  const JobId ready = jobs.push(3s);
  const JobId scheduled = jobs.push(3s, 60s);
  const JobId retrying = jobs.push(3s);
  jobs.advance(2s);
  CHECK(jobs.has(ready));
  CHECK(jobs.has(scheduled));
  CHECK(jobs.has(retrying));
  jobs.advance(1s);
  CHECK_FALSE(jobs.has(ready));
  CHECK_FALSE(jobs.has(scheduled));
  CHECK(jobs.expired() == 3);
  CHECK(jobs.broker.view().queues().find("default")->expired_count == 3);
}

TEST_CASE("expired jobs: one that was over at the push is never handed out") {
  Expiring jobs;
  jobs.push(-1s);
  const JobId live = jobs.push_plain();
  CHECK(jobs.fetch(jobs.worker, "w") == live);
}

TEST_CASE(
    "expired jobs: one that was over at the push is there for its client, if somebody waits") {
  Expiring jobs;
  const ClientId other = jobs.client();
  REQUIRE(jobs.wait_for(jobs.worker, {"default"}, "w"));
  REQUIRE(jobs.wait_for(other, {"default"}, "v"));
  const JobId expired = jobs.push(0s);
  CHECK(jobs.has(expired));
  const JobId live = jobs.push_plain();
  CHECK(jobs.delivered(jobs.worker)->job == live);
  jobs.settle();
  CHECK_FALSE(jobs.has(expired));
  CHECK_FALSE(jobs.delivered(other));
}

TEST_CASE("expired jobs: a run that has begun goes on, and a retry does not come") {
  Expiring jobs;
  const JobId job = jobs.push(3s);
  REQUIRE(jobs.fetch(jobs.worker, "w") == job);
  jobs.advance(10s);
  REQUIRE(jobs.has(job));
  const std::string jid = jobs.format.identify(jobs.job(job)).jid;
  SUBCASE("ACK") {
    CHECK(jobs.broker.workers().ack(jobs.worker, jid, jobs.now));
    CHECK(jobs.expired() == 0);
  }
  SUBCASE("FAIL") {
    CHECK(jobs.broker.workers().fail(jobs.worker, jid, {}, jobs.now));
    jobs.settle();
    CHECK_FALSE(jobs.has(job));
    CHECK(jobs.expired() == 1);
  }
}

TEST_CASE("expired jobs: a dead one stays, and is not requeued") {
  Expiring jobs;
  const JobId job = jobs.push(60s, 10s);
  REQUIRE(jobs.broker.admin().change(job, Mutation::Action::kKill, jobs.now));
  jobs.advance(3600s);
  REQUIRE(jobs.has(job));
  const auto requeued = jobs.broker.admin().change(job, Mutation::Action::kRequeue, jobs.now);
  REQUIRE_FALSE(requeued);
  CHECK(requeued.error() == Refusal::kExpired);
}

TEST_CASE("expired jobs: many in front of a live one hold no turn, and no client for long") {
  Expiring jobs;
  constexpr int kMany = 20'000;
  for (int i = 0; i < kMany; ++i) jobs.push(1s);
  const JobId live = jobs.push_plain();
  jobs.now += 2s;
  // Some of them are removed for the client, which then waits.
  CHECK(jobs.wait_for(jobs.worker, {"default"}, "w", 2s));
  CHECK(jobs.expired() < 100);
  int ticks = 0;
  std::optional<FakeSession::Got> got;
  while (!(got = jobs.delivered(jobs.worker))) {
    const std::uint64_t before = jobs.expired();
    (void)jobs.broker.tick(jobs.now);
    CHECK(jobs.expired() - before <= kSliceJobs + 8);
    REQUIRE(++ticks < kMany);
    (void)jobs.ledger.take_batch();
  }
  CHECK(got->job == live);
  CHECK(jobs.expired() == kMany);
}

TEST_CASE("expired jobs: a step of the wall clock lets them expire, and a step back keeps them") {
  Expiring jobs;
  const JobId job = jobs.push(3600s);
  jobs.broker.set_wall_clock({.ahead = -3600s});
  jobs.advance(3600s);
  CHECK(jobs.has(job));
  jobs.broker.set_wall_clock({.ahead = 0s});
  jobs.settle();
  CHECK_FALSE(jobs.has(job));
}

TEST_CASE("expired jobs: beanstalk gets none of them either") {
  Expiring jobs;
  const JobId job = jobs.push(1s);
  const JobId live = jobs.push_plain();
  jobs.now += 1s;
  CHECK_FALSE(jobs.broker.connections().reserve_job(jobs.worker, job, jobs.now));
  CHECK(jobs.reserve(jobs.worker) == live);
  CHECK_FALSE(jobs.has(job));
}

}  // namespace
}  // namespace millrace::test
