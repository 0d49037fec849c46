#include "core/state/ledger.hpp"

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

constexpr Duration kSpread = 12h;

/// A job that was released once, and then buried.
JobId buried(BrokerFixture& fixture) {
  const ClientId client = fixture.client();
  const JobId id = fixture.put("x");
  REQUIRE(fixture.reserve(client) == id);
  REQUIRE(fixture.broker.connections().release(client, id, 0, 0, fixture.now));
  REQUIRE(fixture.reserve(client) == id);
  REQUIRE(fixture.broker.connections().bury(client, id, 0, fixture.now));
  return id;
}

/// As older versions recorded that the job is retried later: with the delay of its release.
JobFields spread_before(const BrokerFixture& fixture, JobId id) {
  JobFields fields = fixture.job(id).fields();
  fields.state = JobState::kScheduled;
  fields.when = fixture.now + kSpread;
  ++fields.edit_history().tallies.kicks;
  return fields;
}

/// The latest time that the broker's log tells.
Time told(BrokerFixture& fixture) {
  BrokerFixture fresh;
  REQUIRE(fresh.ledger.replay(fixture.ledger.take_batch(), 1));
  return fresh.ledger.latest_time();
}

}  // namespace

TEST_CASE("latest time: an empty log tells none") {
  BrokerFixture fixture;
  CHECK(told(fixture) == Time{});
}

TEST_CASE("latest time: it is when the last job was put, whatever its delay") {
  BrokerFixture fixture;
  fixture.advance(3h);
  fixture.put("x", {.queue = "default", .delay_s = 7200, .due = fixture.now + 2h});
  CHECK(told(fixture) == fixture.now);
}

TEST_CASE("latest time: a job with a time of the wall clock tells when it was pushed") {
  BrokerFixture fixture;
  fixture.broker.set_wall_clock({.ahead = 5h});
  fixture.put(
      "x",
      {.kind = JobKind::kWorkUnit, .queue = "default", .delay_s = 3600, .due = fixture.now + 6h});
  CHECK(told(fixture) == fixture.now);
}

TEST_CASE("latest time: releases, reservations of workers and pauses tell it") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.put("x");
  CHECK(fixture.reserve(client) == id);
  fixture.now += 1h;
  CHECK(fixture.broker.connections().release(client, id, 0, 600, fixture.now));
  CHECK(told(fixture) == fixture.now);
  fixture.push("y");
  fixture.now += 1min;
  CHECK(fixture.fetch(client, "w"));
  CHECK(told(fixture) == fixture.now);
  fixture.now += 1h;
  CHECK(fixture.broker.admin().pause("default", 300, fixture.now));
  CHECK(told(fixture) == fixture.now);
}

TEST_CASE("latest time: a retry at a later time tells no time to come") {
  BrokerFixture fixture;
  const JobId id = buried(fixture);
  fixture.now += 1h;
  REQUIRE(fixture.broker.admin().requeue_later(id, fixture.now + kSpread - 1ms, fixture.now));
  const Job& job = fixture.job(id);
  CHECK(job.delay_s == 12 * 3600);
  CHECK(job.when - std::chrono::seconds(job.delay_s) <= fixture.now);
  CHECK(told(fixture) < fixture.now);
}

TEST_CASE("latest time: such a retry in a log of an older version tells none either") {
  BrokerFixture fixture;
  const JobId id = buried(fixture);
  JobChanged record{.id = id, .fields = spread_before(fixture, id)};
  SUBCASE("as it was written") {
    fixture.ledger.commit(std::move(record));
  }
  SUBCASE("written once more by compaction") {
    fixture.ledger.commit_whole(std::move(record));
  }
  SUBCASE("written once more by compaction, and nothing of it before") {
    static_cast<void>(fixture.ledger.take_batch());
    fixture.ledger.commit_whole(std::move(record));
  }
  SUBCASE("changed after its whole record has left the log") {
    static_cast<void>(fixture.ledger.take_batch());
    fixture.ledger.commit(std::move(record));
  }
  SUBCASE("changed since") {
    fixture.ledger.commit(JobChanged{record});
    ++record.fields.pri;
    fixture.ledger.commit(std::move(record));
  }
  CHECK(told(fixture) <= fixture.now);
}

TEST_CASE("latest time: the release of a job that was kicked before tells it") {
  BrokerFixture fixture;
  const JobId id = buried(fixture);
  REQUIRE(fixture.broker.connections().kick_job(id, fixture.now));
  const ClientId client = fixture.client();
  REQUIRE(fixture.reserve(client) == id);
  fixture.now += 1h;
  REQUIRE(fixture.broker.connections().release(client, id, 0, 600, fixture.now));
  CHECK(told(fixture) == fixture.now);
}

TEST_CASE("latest time: a released job that compaction has written once more tells it") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.put("x");
  REQUIRE(fixture.reserve(client) == id);
  fixture.now += 1h;
  REQUIRE(fixture.broker.connections().release(client, id, 0, 600, fixture.now));
  static_cast<void>(fixture.ledger.take_batch());
  fixture.ledger.place(1);
  fixture.ledger.rewrite(kWholeLog, 1 << 20);
  CHECK(told(fixture) == fixture.now);
}

TEST_CASE("latest time: pushes whose jobs have ended, and batches of jobs, tell it") {
  BrokerFixture fixture;
  Record record = PushEnded{.key = {.high = 1, .low = 2}, .ended_at = fixture.now};
  SUBCASE("a push") {}
  SUBCASE("a batch that is made") {
    record = JobBatchAdded{.id = 1, .sequence = 1, .created_at = fixture.now};
  }
  SUBCASE("a batch that is changed") {
    record = JobBatchChanged{.id = 1, .fields = {.since = fixture.now}};
  }
  fixture.ledger.commit(std::move(record));
  CHECK(told(fixture) == fixture.now);
}

TEST_CASE("latest time: the failure of another server tells nothing") {
  BrokerFixture fixture;
  NewJob job{.kind = JobKind::kWorkUnit, .queue = "default", .ttr_s = 60};
  job.failure = Failure{.failed_at = fixture.now + 99h, .next_at = fixture.now + 99h};
  fixture.put("x", job);
  CHECK(told(fixture) == fixture.now);
}

TEST_CASE("clock: a batch tells the time where the last one does not") {
  BrokerFixture fixture;
  const auto told_at = [&](Time wall) {
    fixture.put("x");
    const std::size_t before = fixture.ledger.batch_bytes();
    fixture.ledger.record_clock(wall);
    const bool is_told = fixture.ledger.batch_bytes() > before;
    REQUIRE_FALSE(fixture.ledger.take_batch().empty());
    return is_told;
  };
  CHECK(told_at(Time{1s}));
  CHECK_FALSE(told_at(Time{1s} + 999us));
  CHECK(told_at(Time{1s} + 1ms));
  CHECK(told_at(Time{1s}));
}

TEST_CASE("clock: where nothing happens no time is told") {
  BrokerFixture fixture;
  fixture.ledger.record_clock(Time{1s});
  CHECK_FALSE(fixture.ledger.has_batch());
}

TEST_CASE("clock: it is no record that somebody waits for, and none that is needed") {
  BrokerFixture fixture;
  fixture.put("x");
  const std::uint64_t written = fixture.ledger.records_written();
  const std::uint64_t live = fixture.ledger.live_bytes();
  fixture.ledger.record_clock(Time{1s});
  CHECK(fixture.ledger.records_written() == written);
  CHECK(fixture.ledger.live_bytes() == live);
}

}  // namespace millrace::test
