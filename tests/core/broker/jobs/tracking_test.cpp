#include "core/broker/features/tracking.hpp"

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

/// A broker whose jobs are tracked, and a worker.
struct Tracked {
  BrokerFixture fixture;
  ClientId worker = fixture.client();
  int pushed = 0;

  /// Each is another job, also with the same jid.
  JobId push(std::string_view jid, Duration in = {}) {
    const std::string body = "jid=" + std::string(jid) + "," + std::to_string(++pushed);
    JobFeatures features;
    features.is_tracked = 1;
    features.jid_hash = jid_hash(jid);
    return fixture.put(body, {.kind = JobKind::kWorkUnit,
                              .queue = "default",
                              .ttr_s = 60,
                              .due = fixture.now + in,
                              .features = features});
  }
  void fetch() { REQUIRE(fixture.fetch(worker, "w")); }
  void ack(std::string_view jid) {
    REQUIRE(fixture.broker.workers().ack(worker, jid, fixture.now));
  }
  void fail(std::string_view jid) {
    REQUIRE(fixture.broker.workers().fail(worker, jid, {}, fixture.now));
  }
  Answer<Done> set(TrackUpdate update) {
    return fixture.broker.workers().set_track(worker, update, fixture.now);
  }
  TrackView get(std::string_view jid) { return fixture.broker.workers().track(jid); }
  TrackState state(std::string_view jid) { return get(jid).state; }
  Time deadline(JobId id) { return fixture.job(id).when; }
  std::size_t track_count() { return fixture.broker.view().tracks().size(); }
};

/// What a restart would find.
struct Restarted {
  Ledger ledger;
  PlainFormat format;
  Broker broker{ledger, format, {}};

  explicit Restarted(Ledger& former) {
    const std::string batch = former.take_batch();
    CHECK(ledger.replay(batch, 24));
    former.place(24);
  }
  TrackView get(std::string_view jid) { return broker.workers().track(jid); }
};

}  // namespace

TEST_CASE("track: the state is that of the job, and success for half an hour after its end") {
  Tracked t;
  t.push("jid-1");
  CHECK(t.state("jid-1") == TrackState::kEnqueued);
  t.fetch();
  CHECK(t.state("jid-1") == TrackState::kWorking);
  CHECK(t.track_count() == 0);
  t.ack("jid-1");
  CHECK(t.state("jid-1") == TrackState::kSuccess);
  t.fixture.advance(29min);
  CHECK(t.state("jid-1") == TrackState::kSuccess);
  t.fixture.advance(2min);
  CHECK(t.state("jid-1") == TrackState::kUnknown);
  CHECK(t.get("jid-1").updated_at == Time{});
}

TEST_CASE("track: percent and description are kept to the end") {
  Tracked t;
  t.push("jid-1");
  t.fetch();
  CHECK(t.set({.jid = "jid-1", .percent = 32, .desc = "half"}));
  CHECK(t.get("jid-1").percent == 32);
  CHECK(t.get("jid-1").desc == "half");
  t.ack("jid-1");
  CHECK(t.state("jid-1") == TrackState::kSuccess);
  CHECK(t.get("jid-1").percent == 32);
  CHECK(t.get("jid-1").desc == "half");
}

TEST_CASE("track: values that are not given are kept, and an empty description clears") {
  Tracked t;
  t.push("jid-1");
  CHECK(t.set({.jid = "jid-1", .percent = 2, .desc = "begun"}));
  CHECK(t.set({.jid = "jid-1", .percent = 0}));
  CHECK(t.get("jid-1").percent == 0);
  CHECK(t.get("jid-1").desc == "begun");
  CHECK(t.set({.jid = "jid-1", .desc = ""}));
  CHECK(t.get("jid-1").percent == 0);
  CHECK(t.get("jid-1").desc.empty());
}

TEST_CASE("track: values can be set before the job is fetched, and after it has succeeded") {
  Tracked t;
  t.push("jid-1");
  CHECK(t.set({.jid = "jid-1", .percent = 2}));
  CHECK(t.state("jid-1") == TrackState::kEnqueued);
  t.fetch();
  t.ack("jid-1");
  CHECK(t.set({.jid = "jid-1", .desc = "done"}));
  CHECK(t.state("jid-1") == TrackState::kSuccess);
  CHECK(t.get("jid-1").percent == 2);
  CHECK(t.get("jid-1").desc == "done");
}

TEST_CASE("track: a job that failed is failed, enqueued again when it is due, and dead at last") {
  Tracked t;
  const JobId id = t.push("jid-1");
  t.fetch();
  t.fail("jid-1");
  CHECK(t.state("jid-1") == TrackState::kFailed);
  t.fixture.advance(10min);
  CHECK(t.state("jid-1") == TrackState::kEnqueued);
  CHECK(t.fixture.broker.admin().change(id, Mutation::Action::kKill, t.fixture.now));
  CHECK(t.state("jid-1") == TrackState::kDead);
  CHECK(t.fixture.broker.admin().change(id, Mutation::Action::kRequeue, t.fixture.now));
  CHECK(t.state("jid-1") == TrackState::kEnqueued);
}

TEST_CASE("track: a job without retries has failed when it is gone") {
  Tracked t;
  JobFeatures features;
  features.is_tracked = 1;
  features.jid_hash = jid_hash("j1");
  t.fixture.put("retry=0", {.kind = JobKind::kWorkUnit, .queue = "default", .features = features});
  t.fetch();
  t.fail("j1");
  CHECK(t.state("j1") == TrackState::kFailed);
  CHECK(t.track_count() == 1);
}

TEST_CASE("track: a job that was discarded is dead, read by its body") {
  Tracked t;
  const JobId id = t.push("jid-1", 1h);
  CHECK(t.state("jid-1") == TrackState::kEnqueued);
  CHECK(t.fixture.broker.admin().change(id, Mutation::Action::kDiscard, t.fixture.now));
  CHECK(t.state("jid-1") == TrackState::kDead);
}

TEST_CASE("track: a job whose queue was removed is dead") {
  Tracked t;
  t.push("jid-1");
  CHECK(t.fixture.broker.admin().remove_queues(t.worker, {"default"}, t.fixture.now));
  CHECK(t.state("jid-1") == TrackState::kDead);
}

TEST_CASE("track: a job that is not tracked is unknown, and what is told of it is kept") {
  Tracked t;
  t.fixture.push("jid=plain");
  CHECK(t.state("plain") == TrackState::kUnknown);
  CHECK(t.get("plain").updated_at == Time{});
  CHECK(t.set({.jid = "plain", .percent = 7}));
  CHECK(t.state("plain") == TrackState::kUnknown);
  CHECK(t.get("plain").percent == 7);
  CHECK(t.get("plain").updated_at == t.fixture.now);
  t.fixture.advance(20min);
  CHECK(t.set({.jid = "plain", .desc = "on"}));
  t.fixture.advance(20min);
  CHECK(t.get("plain").percent == 7);
  t.fixture.advance(11min);
  CHECK(t.get("plain").updated_at == Time{});
  CHECK(t.track_count() == 0);
}

TEST_CASE("track: reserve_until lengthens the reservation, and never shortens it") {
  Tracked t;
  const JobId id = t.push("jid-1");
  t.fetch();
  const Time later = t.fixture.now + 10min;
  CHECK(t.set({.jid = "jid-1", .reserve_until = later}));
  CHECK(t.deadline(id) == later);
  CHECK(t.set({.jid = "jid-1", .reserve_until = t.fixture.now + 1min}));
  CHECK(t.deadline(id) == later);
  t.fixture.advance(2min);
  CHECK(t.state("jid-1") == TrackState::kWorking);
  t.ack("jid-1");
}

TEST_CASE("track: a reservation is lengthened by a day at most") {
  Tracked t;
  const JobId id = t.push("jid-1");
  t.fetch();
  CHECK(t.set({.jid = "jid-1", .reserve_until = kNever}));
  CHECK(t.deadline(id) == t.fixture.now + 24h);
}

TEST_CASE("track: reserve_until is a time of the wall clock") {
  Tracked t;
  const JobId id = t.push("jid-1");
  t.fetch();
  t.fixture.broker.set_wall_clock({.ahead = 5h});
  CHECK(t.set({.jid = "jid-1", .reserve_until = t.fixture.now + 5h + 10min}));
  CHECK(t.deadline(id) == t.fixture.now + 10min);
}

TEST_CASE("track: reserve_until of a job that is not reserved is ignored") {
  Tracked t;
  const JobId id = t.push("jid-1");
  CHECK(t.set({.jid = "jid-1", .reserve_until = t.fixture.now + 1h}));
  CHECK(t.deadline(id) == Time{});
  CHECK(t.set({.jid = "nobody", .reserve_until = t.fixture.now + 1h}));
}

TEST_CASE("track: reserve_until lengthens the hold of a connection, like touch") {
  Tracked t;
  const JobId id = t.push("jid-1");
  const ClientId holder = t.fixture.client();
  CHECK(t.fixture.reserve(holder) == id);
  CHECK(t.set({.jid = "jid-1", .reserve_until = t.fixture.now + 10min}));
  t.fixture.advance(5min);
  CHECK(t.state("jid-1") == TrackState::kWorking);
  CHECK(t.fixture.broker.connections().remove(holder, id, t.fixture.now));
  CHECK(t.state("jid-1") == TrackState::kSuccess);
}

TEST_CASE("track: of two jobs of one name the one is told of that changed last") {
  Tracked t;
  t.push("twins");
  t.fixture.advance(1s);
  t.push("twins");
  t.fixture.advance(1s);
  t.fetch();
  CHECK(t.state("twins") == TrackState::kWorking);
  t.fixture.advance(1s);
  t.ack("twins");
  CHECK(t.state("twins") == TrackState::kSuccess);
  t.fixture.advance(1s);
  t.fetch();
  CHECK(t.state("twins") == TrackState::kWorking);
}

TEST_CASE("track: a new job does not take over what was told of an earlier one") {
  Tracked t;
  t.push("again");
  t.fetch();
  CHECK(t.set({.jid = "again", .percent = 100}));
  t.ack("again");
  t.fixture.advance(1s);
  t.push("again");
  CHECK(t.state("again") == TrackState::kEnqueued);
  CHECK(t.get("again").percent == kNoPercent);
  CHECK(t.set({.jid = "again", .desc = "second"}));
  CHECK(t.get("again").percent == kNoPercent);
}

TEST_CASE("track: nothing is lost in a backlog or by a restart") {
  Tracked t;
  const JobId id = t.push("jid-1");
  CHECK(t.set({.jid = "jid-1", .percent = 3, .desc = "waits"}));
  t.fixture.advance(2h);
  CHECK(t.state("jid-1") == TrackState::kEnqueued);
  t.fetch();
  CHECK(t.set({.jid = "jid-1", .reserve_until = t.fixture.now + 1h}));
  Restarted after(t.fixture.ledger);
  CHECK(after.get("jid-1").state == TrackState::kWorking);
  CHECK(after.get("jid-1").percent == 3);
  CHECK(after.get("jid-1").desc == "waits");
  CHECK(after.broker.view().jobs().find(id)->when == t.fixture.now + 1h);
}

TEST_CASE("track: an end is there after a restart, and goes when it would have gone") {
  Tracked t;
  t.push("jid-1");
  t.fetch();
  t.ack("jid-1");
  Restarted after(t.fixture.ledger);
  CHECK(after.get("jid-1").state == TrackState::kSuccess);
  after.broker.tick(t.fixture.now + kTrackLimit - 1s);
  CHECK(after.get("jid-1").state == TrackState::kSuccess);
  after.broker.tick(t.fixture.now + kTrackLimit);
  CHECK(after.get("jid-1").state == TrackState::kUnknown);
}

TEST_CASE("track: a thousand changes in a turn are one record") {
  Tracked t;
  t.push("jid-1");
  const std::uint64_t before = t.fixture.ledger.records_written();
  for (int i = 0; i < 1000; ++i) CHECK(t.set({.jid = "jid-1", .percent = i % 100}));
  CHECK(t.fixture.ledger.has_batch());
  CHECK(t.fixture.ledger.is_batch_awaited());
  Restarted after(t.fixture.ledger);
  CHECK(t.fixture.ledger.records_written() == before + 1);
  CHECK(after.get("jid-1").percent == 99);
}

TEST_CASE("track: FLUSH drops the tracks, also those of jobs that are gone") {
  Tracked t;
  t.push("jid-1");
  t.fetch();
  t.ack("jid-1");
  t.push("jid-2");
  CHECK(t.set({.jid = "jid-2", .percent = 1}));
  CHECK(t.set({.jid = "nobody", .percent = 1}));
  CHECK(t.track_count() == 3);
  CHECK(t.fixture.broker.admin().flush(t.worker, t.fixture.now));
  CHECK(t.track_count() == 0);
  CHECK(t.state("jid-2") == TrackState::kUnknown);
  Restarted after(t.fixture.ledger);
  CHECK(after.broker.view().tracks().size() == 0);
}

TEST_CASE("track: FLUSH drops the tracks, also where the clock was set back") {
  Tracked t;
  CHECK(t.set({.jid = "nobody", .percent = 1}));
  t.fixture.now -= 1h;
  CHECK(t.fixture.broker.admin().flush(t.worker, t.fixture.now));
  CHECK(t.track_count() == 0);
}

TEST_CASE("track: a FLUSH of many tracks goes on in slices") {
  Tracked t;
  for (std::size_t i = 0; i <= kSliceJobs; ++i) {
    CHECK(t.set({.jid = "n" + std::to_string(i), .percent = 1}));
  }
  CHECK_FALSE(t.fixture.broker.admin().flush(t.worker, t.fixture.now));
  CHECK(t.track_count() > 0);
  t.fixture.settle();
  CHECK(t.track_count() == 0);
}

TEST_CASE("track: tracks that are over at once are removed in slices") {
  Tracked t;
  for (std::size_t i = 0; i < 2 * kSliceJobs; ++i) {
    CHECK(t.set({.jid = "n" + std::to_string(i), .percent = 1}));
  }
  t.fixture.now += kTrackLimit;
  t.fixture.broker.tick(t.fixture.now);
  CHECK(t.track_count() == kSliceJobs);
  t.fixture.settle();
  CHECK(t.track_count() == 0);
}

TEST_CASE("track: while records must not grow nothing is set, and ends are not remembered") {
  Tracked t;
  t.push("jid-1");
  CHECK(t.set({.jid = "jid-1", .percent = 1}));
  t.fetch();
  t.fixture.broker.set_admission(Admission::kNoGrowth);
  const auto refused = t.set({.jid = "jid-1", .percent = 2});
  REQUIRE_FALSE(refused);
  CHECK(refused.error() == Refusal::kNoRoom);
  CHECK(t.get("jid-1").percent == 1);
  t.ack("jid-1");
  CHECK(t.state("jid-1") == TrackState::kUnknown);
  CHECK(t.track_count() == 0);
}

TEST_CASE("track: while no jobs are taken new names are not taken either") {
  Tracked t;
  t.push("jid-1");
  t.fixture.broker.set_admission(Admission::kNoJobs);
  CHECK(t.set({.jid = "jid-1", .percent = 2}));
  CHECK_FALSE(t.set({.jid = "nobody", .percent = 2}));
}

TEST_CASE("track: a job is found among others whose names have the same hash") {
  Tracked t;
  std::vector<std::string> names{"name-0"};
  for (int i = 1; names.size() < 2; ++i) {
    const std::string name = "name-" + std::to_string(i);
    if (jid_hash(name) == jid_hash(names[0])) names.push_back(name);
  }
  t.push(names[0]);
  t.push(names[1]);
  t.fetch();
  CHECK(t.state(names[0]) == TrackState::kWorking);
  CHECK(t.state(names[1]) == TrackState::kEnqueued);
}

TEST_CASE("track: compaction moves the record, and nothing is lost") {
  Tracked t;
  CHECK(t.set({.jid = "nobody", .percent = 5}));
  Ledger& ledger = t.fixture.ledger;
  (void)ledger.take_batch();
  ledger.place(100);
  CHECK(ledger.store().tracks().oldest_place() == 100);
  ledger.rewrite(200, 1000);
  const std::string batch = ledger.take_batch();
  ledger.place(200);
  CHECK(ledger.store().tracks().oldest_place() == 200);
  Ledger after;
  CHECK(after.replay(batch, 200));
  REQUIRE(after.store().tracks().find("nobody") != nullptr);
  CHECK(after.store().tracks().find("nobody")->percent == 5);
  CHECK(after.live_bytes() == ledger.live_bytes());
}

}  // namespace millrace::test
