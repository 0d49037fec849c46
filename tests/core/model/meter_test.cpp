#include "core/model/meter.hpp"

#include "core/bench.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("histogram: a bound belongs to what took exactly so long") {
  Histogram histogram;
  histogram.add(1ms);
  histogram.add(1ms + Duration{1});
  histogram.add(48h);
  CHECK(histogram.counts()[0] == 1);
  CHECK(histogram.counts()[1] == 1);
  CHECK(histogram.counts().back() == 1);
  CHECK(histogram.count() == 3);
  CHECK(histogram.sum() == 48h + 2ms + Duration{1});
}

TEST_CASE("rate: even events show their rate, and it fades when they end") {
  Rate rate;
  Time now = kStart;
  for (int i = 0; i < 600; ++i, now += 100ms) rate.add(now);
  CHECK(rate.per_second(now) == doctest::Approx(10).epsilon(0.01));
  CHECK(rate.per_second(now + Rate::kWindow) < 10);
  CHECK(rate.per_second(now + 2 * Rate::kWindow) == 0);
}

TEST_CASE("meter: a queue measures waiting and running") {
  Bench bench;
  const ClientId client = bench.client();
  bench.put("x");
  bench.now += 2s;
  const std::optional<JobId> id = bench.reserve(client);
  bench.now += 7s;
  CHECK(bench.broker.remove(client, *id, bench.now));
  const QueueMeter& meter = *bench.broker.view().find_queue("default")->meter;
  CHECK(meter.wait.sum() == 2s);
  CHECK(meter.run.sum() == 7s);
  CHECK(meter.processed.total == 1);
  CHECK(meter.failed.total == 0);
}

TEST_CASE("view: the oldest ready job is found behind more urgent ones") {
  Bench bench;
  bench.put("old", {.queue = "default", .pri = 9, .ttr_s = 60});
  bench.now += 5s;
  bench.put("urgent", {.queue = "default", .pri = 1, .ttr_s = 60});
  const View& view = bench.broker.view();
  CHECK(view.oldest_ready(*view.find_queue("default")) == kStart);
}

TEST_CASE("change: a held job is left alone, and what is so already is refused") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.put("x");
  CHECK_FALSE(bench.broker.admin().change(id, Mutation::Action::kRequeue, bench.now));
  CHECK(bench.broker.admin().change(id, Mutation::Action::kKill, bench.now));
  CHECK_FALSE(bench.broker.admin().change(id, Mutation::Action::kKill, bench.now));
  CHECK(bench.broker.admin().change(id, Mutation::Action::kRequeue, bench.now));
  CHECK(bench.reserve(client) == id);
  CHECK_FALSE(bench.broker.admin().change(id, Mutation::Action::kDiscard, bench.now));
}

TEST_CASE("take back: a worker's job is gone, and its ACK finds none") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.push("jid=held");
  CHECK(bench.fetch(client, "w") == id);
  const std::string jid = bench.job(id).reservation()->jid;
  CHECK(bench.broker.admin().change_held(id, Mutation::Action::kDiscard, bench.now));
  CHECK_FALSE(bench.has(id));
  CHECK(bench.broker.view().worker_held_count() == 0);
  CHECK_FALSE(bench.broker.workers().ack(client, jid, bench.now));
}

TEST_CASE("take back: a killed job is dead, and its holder cannot release it") {
  Bench bench;
  const ClientId client = bench.client();
  const JobId id = bench.put("x");
  CHECK(bench.reserve(client) == id);
  CHECK(bench.broker.admin().change_held(id, Mutation::Action::kKill, bench.now));
  CHECK(bench.state(id) == JobState::kDead);
  CHECK(bench.broker.view().held_count(client) == 0);
  CHECK_FALSE(bench.broker.release(client, id, 0, 0, bench.now));
  CHECK_FALSE(bench.broker.touch(client, id, bench.now));
}

TEST_CASE("take back: a released job goes to who waits, and counts no failure") {
  Bench bench;
  const ClientId holder = bench.client();
  const ClientId other = bench.client();
  const JobId id = bench.push("x");
  CHECK(bench.fetch(holder, "stuck") == id);
  CHECK(bench.wait(other));
  CHECK(bench.broker.admin().change_held(id, Mutation::Action::kRequeue, bench.now));
  CHECK(bench.job(id).reservation()->client == other);
  CHECK(bench.job(id).failure() == nullptr);
  CHECK(bench.job(id).tallies().releases == 1);
}

TEST_CASE("take back: what nobody holds is left alone") {
  Bench bench;
  const JobId id = bench.put("x");
  CHECK_FALSE(bench.broker.admin().change_held(id, Mutation::Action::kDiscard, bench.now));
  CHECK_FALSE(bench.broker.admin().change_held(99, Mutation::Action::kDiscard, bench.now));
  CHECK(bench.has(id));
}

TEST_CASE("view: failed jobs that were retried are known until they fail again or end") {
  Bench bench;
  const ClientId client = bench.client();
  const View& view = bench.broker.view();
  const JobId id = bench.push("retry=2");
  const auto seen = [&] {
    std::vector<JobId> ids;
    const auto visit = [&](const Job& job) { ids.push_back(job.id); };
    CHECK_FALSE(view.scan_failed_before({}, 10, visit).next);
    return ids;
  };
  const auto fail = [&] {
    CHECK(bench.fetch(client, "w") == id);
    const std::string jid = bench.job(id).reservation()->jid;
    CHECK(bench.broker.workers().fail(client, jid, {"E", "m", {}}, bench.now));
  };
  fail();
  CHECK(seen().empty());
  CHECK(bench.broker.admin().change(id, Mutation::Action::kRequeue, bench.now));
  CHECK(seen() == std::vector{id});
  CHECK(view.failed_before_count() == 1);
  fail();
  CHECK(seen().empty());
  CHECK(bench.broker.admin().change(id, Mutation::Action::kRequeue, bench.now));
  CHECK(bench.reserve(client) == id);
  CHECK(seen() == std::vector{id});
  CHECK(bench.broker.remove(client, id, bench.now));
  CHECK(view.failed_before_count() == 0);
}

TEST_CASE("scan: failed jobs are walked slice by slice") {
  Bench bench;
  const ClientId client = bench.client();
  const View& view = bench.broker.view();
  for (int i = 0; i < 3; ++i) {
    const JobId id = bench.push("retry=2");
    CHECK(bench.fetch(client, "w") == id);
    const std::string jid = bench.job(id).reservation()->jid;
    CHECK(bench.broker.workers().fail(client, jid, {"E", "m", {}}, bench.now));
  }
  for (JobId id = 1; id <= bench.broker.view().counters().next_id; ++id) {
    if (bench.has(id))
      CHECK(bench.broker.admin().change(id, Mutation::Action::kRequeue, bench.now));
  }
  std::size_t met = 0;
  const auto visit = [&](const Job&) { ++met; };
  const ScanEnd slice = view.scan_failed_before({}, 2, visit);
  CHECK(slice.jobs == 2);
  REQUIRE(slice.next);
  CHECK_FALSE(view.scan_failed_before(slice.next, 2, visit).next);
  CHECK(met == 3);
}

TEST_CASE("scan: step by step, either way, through several queues meets each job once") {
  Bench bench;
  bool is_backwards = false;
  SUBCASE("forwards") {}
  SUBCASE("backwards") {
    is_backwards = true;
  }
  bench.push("a", "one");
  bench.push("b", "two");
  bench.push("c", "two");
  std::vector<JobId> met;
  std::optional<ScanPlace> after;
  ScanEnd end;
  do {
    end = bench.broker.view().scan({.state = JobState::kReady, .is_backwards = is_backwards}, after,
                                   1, [&](const Job& job) {
                                     met.push_back(job.id);
                                     return true;
                                   });
    after = end.next;
  } while (end.next);
  CHECK(met.size() == 3);
}

}  // namespace millrace::test
