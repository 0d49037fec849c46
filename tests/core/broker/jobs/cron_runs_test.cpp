#include "core/broker/features/cron_runs.hpp"

#include <string>

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

/// A broker with the entry `e`, which begins at 12:00 of some day.
struct CronFixture : BrokerFixture {
  static constexpr Time kNoon{std::chrono::hours{12 + 24 * 20'000}};

  CronRuns& cron = broker.cron();

  CronFixture() { REQUIRE(cron.begin("e", 1, kNoon)); }

  [[nodiscard]] const CronEntry& entry() const {
    const CronEntry* const found = broker.view().cron().find("e");
    REQUIRE(found != nullptr);
    return *found;
  }
  void run(Time planned) {
    cron.note("e", {.planned = planned, .at = planned + 1ms, .job = 7, .jid = "jid"});
  }
};

}  // namespace

TEST_CASE("cron: a new entry has no runs before it came") {
  const CronFixture fixture;
  CHECK(fixture.entry().planned == CronFixture::kNoon);
  CHECK(fixture.entry().runs.empty());
  CHECK(fixture.broker.view().cron().count() == 1);
}

TEST_CASE("cron: a run moves the time that was planned last, never back") {
  CronFixture fixture;
  fixture.run(CronFixture::kNoon + 5min);
  CHECK(fixture.entry().planned == CronFixture::kNoon + 5min);
  fixture.run(CronFixture::kNoon + 4min);
  CHECK(fixture.entry().planned == CronFixture::kNoon + 5min);
  CHECK(fixture.entry().runs.size() == 2);
  CHECK(fixture.broker.view().tally().cron_enqueued == 2);
}

TEST_CASE("cron: a run by hand leaves the plan as it is") {
  CronFixture fixture;
  fixture.cron.note(
      "e", {.planned = CronFixture::kNoon + 1h, .job = 8, .jid = "jid", .is_by_hand = true});
  CHECK(fixture.entry().planned == CronFixture::kNoon);
  CHECK(fixture.entry().runs.front().is_by_hand);
}

TEST_CASE("cron: the last ten runs are remembered") {
  CronFixture fixture;
  for (int i = 1; i <= 11; ++i) fixture.run(CronFixture::kNoon + i * 1min);
  CHECK(fixture.entry().runs.size() == kCronRunsMax);
  CHECK(fixture.entry().runs.front().planned == CronFixture::kNoon + 2min);
  CHECK(fixture.entry().runs.back().planned == CronFixture::kNoon + 11min);
}

TEST_CASE("cron: a refused run is one, with its reason in short") {
  CronFixture fixture;
  fixture.cron.note("e", {.planned = CronFixture::kNoon + 1min, .problem = std::string(500, 'x')});
  CHECK(fixture.entry().planned == CronFixture::kNoon + 1min);
  CHECK(fixture.entry().runs.front().problem.size() == kCronProblemBytesMax);
  CHECK(fixture.broker.view().tally().cron_refused == 1);
}

TEST_CASE("cron: a run remembers how its job has ended, and when") {
  CronFixture fixture;
  const ClientId worker = fixture.client();
  const auto end_of_last = [&fixture] { return fixture.entry().runs.back().end; };
  const auto run_now = [&fixture] {
    const JobId job = fixture.put("");
    fixture.cron.note("e", {.planned = fixture.now, .at = fixture.now, .job = job, .jid = "jid"});
    return job;
  };
  const JobId done = run_now();
  fixture.advance(1s);
  CHECK(fixture.reserve(worker) == done);
  fixture.advance(2s);
  CHECK(end_of_last() == std::nullopt);
  CHECK(fixture.broker.view().cron().waits_for(done) == &fixture.entry());
  CHECK(fixture.broker.connections().remove(worker, done, fixture.now));
  CHECK(end_of_last() == CronRunEnd{JobEnd::kSucceeded, kStart + 1s, kStart + 3s});
  CHECK(fixture.broker.view().cron().waits_for(done) == nullptr);

  const JobId deleted = run_now();
  CHECK(fixture.broker.connections().remove(worker, deleted, fixture.now));
  CHECK(end_of_last() == CronRunEnd{JobEnd::kGone, Time{}, kStart + 3s});

  (void)run_now();
  fixture.advance(1s);
  CHECK(fixture.broker.admin().flush(worker, fixture.now));
  fixture.settle();
  CHECK(end_of_last() == CronRunEnd{JobEnd::kGone, Time{}, kStart + 4s});
  CHECK(fixture.entry().runs.size() == 3);
}

TEST_CASE("cron: a run whose entry has forgotten it, or is gone, ends unnoticed") {
  CronFixture fixture;
  const JobId first = fixture.put("");
  fixture.cron.note("e", {.planned = fixture.now, .job = first, .jid = "jid"});
  for (int i = 1; i <= 10; ++i) fixture.run(CronFixture::kNoon + i * 1min);
  CHECK(fixture.broker.view().cron().waits_for(first) == nullptr);
  const JobId second = fixture.put("");
  fixture.cron.note("e", {.planned = fixture.now, .job = second, .jid = "jid"});
  fixture.cron.end("e", CronFixture::kNoon);
  fixture.cron.end("e", CronFixture::kNoon + kCronForgottenAfter);
  CHECK(fixture.broker.view().cron().waits_for(second) == nullptr);
  CHECK(fixture.broker.connections().remove(fixture.client(), second, fixture.now));
}

TEST_CASE("cron: an entry that stays the same is not recorded again") {
  CronFixture fixture;
  (void)fixture.ledger.take_batch();
  REQUIRE(fixture.cron.begin("e", 1, CronFixture::kNoon + 1h));
  CHECK_FALSE(fixture.ledger.has_batch());
  CHECK(fixture.entry().planned == CronFixture::kNoon);
}

TEST_CASE("cron: a changed entry begins anew") {
  CronFixture fixture;
  fixture.run(CronFixture::kNoon + 5min);
  REQUIRE(fixture.cron.begin("e", 2, CronFixture::kNoon + 1h));
  CHECK(fixture.entry().planned == CronFixture::kNoon + 1h);
  CHECK(fixture.entry().runs.size() == 1);
}

TEST_CASE("cron: after a time with a clock that was wrong, an entry begins anew") {
  CronFixture fixture;
  fixture.run(CronFixture::kNoon + 48h);
  REQUIRE(fixture.cron.begin("e", 1, CronFixture::kNoon + 24h));
  CHECK(fixture.entry().planned == CronFixture::kNoon + 48h);
  REQUIRE(fixture.cron.begin("e", 1, CronFixture::kNoon + 23h));
  CHECK(fixture.entry().planned == CronFixture::kNoon + 23h);
}

TEST_CASE("cron: what was skipped is not planned any more") {
  CronFixture fixture;
  fixture.cron.skip("e", CronFixture::kNoon + 5min);
  CHECK(fixture.entry().planned == CronFixture::kNoon + 5min);
  fixture.cron.skip("e", CronFixture::kNoon);
  CHECK(fixture.entry().planned == CronFixture::kNoon + 5min);
}

TEST_CASE("cron: a pause stays until it is ended, and what it skipped stays so") {
  CronFixture fixture;
  REQUIRE(fixture.cron.pause("e"));
  REQUIRE(fixture.cron.pause("e"));
  CHECK(fixture.entry().is_paused);
  REQUIRE(fixture.cron.begin("e", 2, CronFixture::kNoon + 1min));
  CHECK(fixture.entry().is_paused);
  REQUIRE(fixture.cron.resume("e", CronFixture::kNoon + 1h));
  REQUIRE(fixture.cron.resume("e", CronFixture::kNoon + 2h));
  CHECK_FALSE(fixture.entry().is_paused);
  CHECK(fixture.entry().planned == CronFixture::kNoon + 1h);
}

TEST_CASE("cron: only entries that are there can be paused") {
  CronFixture fixture;
  CHECK(fixture.cron.pause("x").error() == Refusal::kNotFound);
  CHECK(fixture.cron.resume("x", CronFixture::kNoon).error() == Refusal::kNotFound);
}

TEST_CASE("cron: an entry that is gone is remembered for a week, with its pause") {
  CronFixture fixture;
  REQUIRE(fixture.cron.pause("e"));
  fixture.cron.end("e", CronFixture::kNoon);
  fixture.cron.end("e", CronFixture::kNoon + kCronForgottenAfter - 1s);
  CHECK(fixture.entry().gone_since == CronFixture::kNoon);
  REQUIRE(fixture.cron.begin("e", 1, CronFixture::kNoon + 1h));
  CHECK(fixture.entry().is_paused);
  CHECK(fixture.entry().gone_since == Time{});
  CHECK(fixture.entry().planned == CronFixture::kNoon + 1h);
}

TEST_CASE("cron: an entry that is gone for longer is forgotten") {
  CronFixture fixture;
  fixture.cron.end("e", CronFixture::kNoon);
  fixture.cron.end("e", CronFixture::kNoon + kCronForgottenAfter);
  CHECK(fixture.broker.view().cron().find("e") == nullptr);
  fixture.cron.end("e", CronFixture::kNoon);
  REQUIRE(fixture.cron.begin("e", 1, CronFixture::kNoon + 1h));
  CHECK(fixture.entry().planned == CronFixture::kNoon + 1h);
}

TEST_CASE("cron: a full disk takes no new entries and pauses, and goes on with the others") {
  CronFixture fixture;
  fixture.broker.set_admission(Admission::kNoGrowth);
  CHECK(fixture.cron.begin("f", 1, CronFixture::kNoon).error() == Refusal::kNoRoom);
  CHECK(fixture.cron.pause("e").error() == Refusal::kNoRoom);
  CHECK(fixture.cron.begin("e", 1, CronFixture::kNoon));
}

TEST_CASE("cron: a replay gives the same entries") {
  CronFixture fixture;
  fixture.run(CronFixture::kNoon + 1min);
  REQUIRE(fixture.cron.begin("f", 1, CronFixture::kNoon));
  REQUIRE(fixture.cron.pause("e"));
  REQUIRE(fixture.cron.begin("gone", 1, CronFixture::kNoon));
  fixture.cron.end("gone", CronFixture::kNoon);
  fixture.cron.end("gone", CronFixture::kNoon + kCronForgottenAfter);
  BrokerFixture fresh;
  REQUIRE(fresh.ledger.replay(fixture.ledger.take_batch(), 0));
  const CronEntries& entries = fresh.broker.view().cron();
  CHECK(entries.count() == 2);
  CHECK(record_of(*entries.find("e")) == record_of(fixture.entry()));
  CHECK(fresh.ledger.live_bytes() == fixture.ledger.live_bytes());
}

TEST_CASE("cron: FLUSH leaves the last planned times") {
  CronFixture fixture;
  fixture.run(CronFixture::kNoon + 1min);
  CHECK(fixture.broker.admin().flush(fixture.client(), fixture.now));
  CHECK(fixture.entry().planned == CronFixture::kNoon + 1min);
}

}  // namespace millrace::test
