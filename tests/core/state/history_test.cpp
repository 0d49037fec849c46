#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

void finish_one(BrokerFixture& fixture, ClientId client) {
  const JobId id = fixture.push("x");
  CHECK(fixture.fetch(client, "w") == id);
  CHECK(fixture.broker.workers().ack(client, "j" + std::to_string(id), fixture.now));
}

void fail_one(BrokerFixture& fixture, ClientId client) {
  const JobId id = fixture.push("retry=0");
  CHECK(fixture.fetch(client, "w") == id);
  CHECK(fixture.broker.workers().fail(client, "j" + std::to_string(id), {}, fixture.now));
}

std::int32_t day_of(Time time) {
  return static_cast<std::int32_t>(
      std::chrono::floor<std::chrono::days>(time.time_since_epoch()).count());
}

}  // namespace

TEST_CASE("history: a day that is over is remembered") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  finish_one(fixture, client);
  fail_one(fixture, client);
  CHECK(fixture.broker.view().history().empty());
  const std::int32_t day = day_of(fixture.now);
  fixture.now += 48h;
  finish_one(fixture, client);
  const std::vector<DayCounts> history = fixture.broker.view().history();
  CHECK((history == std::vector<DayCounts>{{.day = day, .processed = 2, .failed = 1}}));
  CHECK(fixture.broker.view().counters().processed_today == 1);
  CHECK(fixture.broker.view().counters().processed == 3);
}

TEST_CASE("history: the day is that of the wall clock") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  fixture.broker.set_wall_clock({.ahead = 48h});
  finish_one(fixture, client);
  CHECK(fixture.broker.view().counters().day == day_of(fixture.now + 48h));
  fixture.broker.set_wall_clock({});
  finish_one(fixture, client);
  CHECK(fixture.broker.view().counters().day == day_of(fixture.now + 48h));
  CHECK(fixture.broker.view().counters().processed_today == 2);
}

TEST_CASE("history: a day in whose midst the server restarts is one day") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  finish_one(fixture, client);
  BrokerFixture fresh;
  REQUIRE(fresh.ledger.replay(fixture.ledger.take_batch(), 1));
  const ClientId again = fresh.client();
  finish_one(fresh, again);
  fresh.now += 24h;
  finish_one(fresh, again);
  CHECK(fresh.broker.view().history().size() == 1);
  CHECK(fresh.broker.view().history().front().processed == 2);
}

TEST_CASE("history: the last record of it is enough") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  for (int day = 0; day < 3; ++day) {
    finish_one(fixture, client);
    (void)fixture.ledger.take_batch();
    fixture.now += 24h;
  }
  finish_one(fixture, client);
  BrokerFixture fresh;
  REQUIRE(fresh.ledger.replay(fixture.ledger.take_batch(), 1));
  CHECK(fresh.broker.view().history() == fixture.broker.view().history());
  CHECK(fresh.broker.view().history().size() == 3);
}

TEST_CASE("history: has an end") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const std::int32_t first = day_of(fixture.now);
  for (std::size_t day = 0; day < kHistoryDaysMax + 2; ++day) {
    finish_one(fixture, client);
    fixture.now += 24h;
  }
  CHECK(fixture.broker.view().history().size() == kHistoryDaysMax);
  CHECK(fixture.broker.view().history().front().day == first + 1);
}

TEST_CASE("history: a clock that was set back opens no day anew") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  finish_one(fixture, client);
  fixture.now -= 24h;
  finish_one(fixture, client);
  CHECK(fixture.broker.view().history().empty());
  CHECK(fixture.broker.view().counters().processed_today == 2);
}

TEST_CASE("history: a clock that was years ahead for a moment stops no later day") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  fixture.broker.set_wall_clock({.ahead = 24h * 4000});
  finish_one(fixture, client);
  fixture.broker.set_wall_clock({});
  finish_one(fixture, client);
  CHECK(fixture.broker.view().counters().day == day_of(fixture.now));
  CHECK(fixture.broker.view().counters().processed_today == 2);
  fixture.now += 24h;
  finish_one(fixture, client);
  CHECK(fixture.broker.view().counters().day == day_of(fixture.now));
  CHECK(fixture.broker.view().counters().processed_today == 1);
}

TEST_CASE("history: has each day once and in order, however the clock is set") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const std::int32_t today = day_of(fixture.now);
  for (const int days : {0, 10, 0, 1, 0, 3, 0, 2, 5}) {
    fixture.broker.set_wall_clock({.ahead = 24h * days});
    finish_one(fixture, client);
  }
  std::uint64_t processed = fixture.broker.view().counters().processed_today;
  std::int32_t last = 0;
  for (const DayCounts& day : fixture.broker.view().history()) {
    CHECK(day.day > last);
    last = day.day;
    processed += day.processed;
  }
  CHECK(processed == 9);
  CHECK(last <= today + 5);
}

TEST_CASE("history: flushed with the totals") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  finish_one(fixture, client);
  fixture.now += 24h;
  finish_one(fixture, client);
  CHECK(fixture.broker.admin().flush(client, fixture.now));
  CHECK(fixture.broker.view().history().empty());
}

}  // namespace millrace::test
