#include "server/turn/ticker.hpp"

#include "server/turn/test_loop.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

struct Alarm final : Deadline {
  void expire(Time now) override { expired.push_back(now); }
  std::vector<Time> expired;
};

struct Ticking {
  faktory::WorkUnits format;
  Ledger ledger;
  Broker broker{ledger, format, {}};
  Ticker ticker{broker};
  const Time start{1'700'000'000s};
};

/// A main loop whose time passes by itself.
struct Running final : Input, Duties {
  faktory::WorkUnits format;
  Ledger ledger;
  Broker broker{ledger, format, {}};
  FakeJournal journal;
  SystemClock clock;
  Poller poller;
  MainLoop main{{.broker = broker,
                 .ledger = ledger,
                 .journal = journal,
                 .clock = clock,
                 .input = *this,
                 .duties = *this}};
  Ticker& ticker = main.ticker;
  Turn& turn = main.turn;
  int waits = 0;
  Duration longest_wait{};
  const Time start = clock.now();

  Running() { main.commits.lead(journal.epoch()); }

  void take(Duration longest) override {
    ++waits;
    longest_wait = longest;
    poller.take(std::min(longest, Duration{10s}));
  }
  [[nodiscard]] bool serves_few() const override { return true; }
  [[nodiscard]] bool has_work() const override { return false; }
  void wake() override { poller.wake(); }
  Compactor::Limits set_limits(Compactor::Limits asked, Time) override { return asked; }
  void work(Time) override {}
  void let_go(Lsn) override {}
  void stand_down() override {}
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
  Running running;
  Alarm alarm;
  running.ticker.plan(alarm, running.start + 20ms);
  running.turn.run();
  CHECK(running.clock.now() >= running.start + 20ms);
  CHECK(running.clock.now() < running.start + 5s);
  CHECK(running.waits == 1);
  CHECK(alarm.expired.size() == 1);
}

TEST_CASE("ticker: an earlier deadline comes first") {
  Running running;
  Alarm late;
  Alarm early;
  running.ticker.plan(late, running.start + 1h);
  running.ticker.plan(early, running.start + 20ms);
  running.turn.run();
  CHECK(running.waits == 1);
  CHECK(early.expired.size() == 1);
  running.ticker.plan(late, kNever);
}

TEST_CASE("ticker: what the broker has planned wakes the loop") {
  Running running;
  const Time due = running.start + 20ms;
  REQUIRE(running.broker.put({.queue = "default", .body = "x", .due = due}, running.start));
  running.turn.run();
  CHECK(running.ticker.next() == due);
  running.turn.run();
  CHECK(running.waits == 2);
  CHECK(running.clock.now() >= due);
  CHECK(running.broker.view().orders().count(JobState::kReady) == 1);
}

TEST_CASE("ticker: the loop does not wait while unfinished work is due") {
  Running running;
  Alarm alarm;
  running.ticker.plan(alarm, Time::min());
  CHECK(running.turn.has_work());
  running.turn.run();
  CHECK(running.longest_wait == Duration{});
  CHECK(alarm.expired.size() == 1);
}

TEST_CASE("ticker: what does not fit into a slice asks for another turn at once") {
  Ticking ticking;
  std::vector<Alarm> alarms(kSliceDeadlines + 1);
  for (Alarm& alarm : alarms) ticking.ticker.plan(alarm, ticking.start);
  ticking.ticker.work(ticking.start);
  CHECK(ticking.ticker.next() <= ticking.start);
  ticking.ticker.work(ticking.start);
  CHECK(ticking.ticker.next() > ticking.start);
}

}  // namespace
}  // namespace millrace::server
