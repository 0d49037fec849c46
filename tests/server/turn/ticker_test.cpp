#include "server/turn/ticker.hpp"

#include "faktory/job/work_unit.hpp"
#include "server/manual_clock.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

struct Alarm final : Deadline {
  void expire(Time now) override { expired.push_back(now); }
  std::vector<Time> expired;
};

struct Ticking {
  Loop loop;
  faktory::WorkUnits format;
  Ledger ledger;
  Broker broker{ledger, format, {}};
  ManualClock clock;
  int wakes = 0;
  Ticker ticker{loop, broker, clock, [this] {
                  ++wakes;
                  loop.stop();
                }};
  const Time start = clock.now();
};

TEST_CASE("ticker: a deadline passes when its time has come, and once") {
  Ticking ticking;
  Alarm alarm;
  ticking.ticker.plan(alarm, ticking.start + 5s);
  ticking.ticker.work(ticking.start + 5s - 1ns);
  CHECK(alarm.expired.empty());
  ticking.ticker.work(ticking.start + 5s);
  ticking.ticker.work(ticking.start + 6s);
  CHECK(alarm.expired == std::vector{ticking.start + 5s});
}

TEST_CASE("ticker: a deadline can be moved and taken away") {
  Ticking ticking;
  Alarm moved;
  Alarm gone;
  ticking.ticker.plan(moved, ticking.start + 1s);
  ticking.ticker.plan(gone, ticking.start + 1s);
  ticking.ticker.plan(moved, ticking.start + 3s);
  ticking.ticker.plan(gone, kNever);
  ticking.ticker.work(ticking.start + 2s);
  CHECK(moved.expired.empty());
  ticking.ticker.work(ticking.start + 3s);
  CHECK(moved.expired.size() == 1);
  CHECK(gone.expired.empty());
}

TEST_CASE("ticker: a planned deadline wakes the loop by itself") {
  Ticking ticking;
  Alarm alarm;
  ticking.ticker.plan(alarm, ticking.start + 20ms);
  ticking.loop.run_for(10s);
  CHECK(ticking.wakes == 1);
  ticking.ticker.plan(alarm, kNever);
}

TEST_CASE("ticker: an earlier deadline moves the timer forward") {
  Ticking ticking;
  Alarm late;
  Alarm early;
  ticking.ticker.plan(late, ticking.start + 1h);
  ticking.ticker.plan(early, ticking.start + 20ms);
  ticking.loop.run_for(10s);
  CHECK(ticking.wakes == 1);
  ticking.ticker.plan(late, kNever);
  ticking.ticker.plan(early, kNever);
}

TEST_CASE("ticker: what the broker has planned wakes the loop") {
  Ticking ticking;
  const Time due = ticking.start + 20ms;
  REQUIRE(ticking.broker.put({.queue = "default", .body = "x", .due = due}, ticking.start));
  ticking.ticker.work(ticking.start);
  CHECK(ticking.ticker.next() == due);
  ticking.loop.run_for(10s);
  CHECK(ticking.wakes == 1);
}

TEST_CASE("ticker: what does not fit into a slice asks for another turn at once") {
  Ticking ticking;
  std::vector<Alarm> alarms(kSliceDeadlines + 1);
  for (Alarm& alarm : alarms) ticking.ticker.plan(alarm, ticking.start);
  ticking.wakes = 0;
  ticking.ticker.work(ticking.start);
  CHECK(ticking.wakes == 1);
  ticking.ticker.work(ticking.start);
  CHECK(ticking.wakes == 1);
}

}  // namespace
}  // namespace millrace::server
