#include "core/bench.hpp"
#include "support/doctest.hpp"

namespace millrace::test {
namespace {

void finish_one(Bench& bench, ClientId client) {
  const JobId id = bench.push("x");
  CHECK(bench.fetch(client, "w") == id);
  CHECK(bench.broker.workers().ack(client, "j" + std::to_string(id), bench.now));
}

void fail_one(Bench& bench, ClientId client) {
  const JobId id = bench.push("retry=0");
  CHECK(bench.fetch(client, "w") == id);
  CHECK(bench.broker.workers().fail(client, "j" + std::to_string(id), {}, bench.now));
}

std::int32_t day_of(Time time) {
  return static_cast<std::int32_t>(
      std::chrono::floor<std::chrono::days>(time.time_since_epoch()).count());
}

}  // namespace

TEST_CASE("history: a day that is over is remembered") {
  Bench bench;
  const ClientId client = bench.client();
  finish_one(bench, client);
  fail_one(bench, client);
  CHECK(bench.broker.view().history().empty());
  const std::int32_t day = day_of(bench.now);
  bench.now += 48h;
  finish_one(bench, client);
  const std::vector<DayCounts> history = bench.broker.view().history();
  CHECK((history == std::vector<DayCounts>{{.day = day, .processed = 2, .failed = 1}}));
  CHECK(bench.broker.view().counters().processed_today == 1);
  CHECK(bench.broker.view().counters().processed == 3);
}

TEST_CASE("history: a day in whose midst the server restarts is one day") {
  Bench bench;
  const ClientId client = bench.client();
  finish_one(bench, client);
  Bench fresh;
  REQUIRE(fresh.ledger.replay(bench.ledger.take_batch(), 1));
  const ClientId again = fresh.client();
  finish_one(fresh, again);
  fresh.now += 24h;
  finish_one(fresh, again);
  CHECK(fresh.broker.view().history().size() == 1);
  CHECK(fresh.broker.view().history().front().processed == 2);
}

TEST_CASE("history: the last record of it is enough") {
  Bench bench;
  const ClientId client = bench.client();
  for (int day = 0; day < 3; ++day) {
    finish_one(bench, client);
    (void)bench.ledger.take_batch();
    bench.now += 24h;
  }
  finish_one(bench, client);
  Bench fresh;
  REQUIRE(fresh.ledger.replay(bench.ledger.take_batch(), 1));
  CHECK(fresh.broker.view().history() == bench.broker.view().history());
  CHECK(fresh.broker.view().history().size() == 3);
}

TEST_CASE("history: has an end") {
  Bench bench;
  const ClientId client = bench.client();
  const std::int32_t first = day_of(bench.now);
  for (std::size_t day = 0; day < kHistoryDaysMax + 2; ++day) {
    finish_one(bench, client);
    bench.now += 24h;
  }
  CHECK(bench.broker.view().history().size() == kHistoryDaysMax);
  CHECK(bench.broker.view().history().front().day == first + 1);
}

TEST_CASE("history: a clock that was set back opens no day anew") {
  Bench bench;
  const ClientId client = bench.client();
  finish_one(bench, client);
  bench.now -= 24h;
  finish_one(bench, client);
  CHECK(bench.broker.view().history().empty());
  CHECK(bench.broker.view().counters().processed_today == 2);
}

TEST_CASE("history: flushed with the totals") {
  Bench bench;
  const ClientId client = bench.client();
  finish_one(bench, client);
  bench.now += 24h;
  finish_one(bench, client);
  CHECK(bench.broker.admin().flush(client, bench.now));
  CHECK(bench.broker.view().history().empty());
}

}  // namespace millrace::test
