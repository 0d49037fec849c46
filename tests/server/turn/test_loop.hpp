#pragma once

#include <functional>

#include "faktory/job/work_unit.hpp"
#include "server/fake_journal.hpp"
#include "server/manual_clock.hpp"
#include "server/net/net.hpp"
#include "server/turn/turn.hpp"

namespace millrace::server {

/// The main loop with all that belongs to it, over a disk and a clock that the test moves.
struct TestLoop final : private Input, private Duties {
  Log log{[](std::string_view) {}};
  Poller poller;
  Net net{poller, log};
  faktory::WorkUnits format;
  Ledger ledger;
  Broker broker{ledger, format, {}};
  FakeJournal journal;
  ManualClock clock;
  MainLoop main{{.broker = broker,
                 .ledger = ledger,
                 .journal = journal,
                 .clock = clock,
                 .input = *this,
                 .duties = *this}};
  Ticker& ticker = main.ticker;
  CommitQueue& commits = main.commits;
  Turn& turn = main.turn;

  std::function<void(Time now)> on_work;          ///< may be empty
  std::function<void(Duration longest)> on_take;  ///< instead of the net's; may be empty
  std::function<void(Lsn durable)> on_let_go;     ///< besides the net's; may be empty
  Compactor::Limits limits;                       ///< hold for all turns
  int stood_down_count = 0;

  TestLoop() { commits.lead(journal.epoch()); }

  /// Runs turns until nothing is left to do without waiting.
  void run() {
    do {
      // So that it does not wait where it has nothing to do.
      turn.request();
      turn.run();
    } while (turn.has_work());
  }

  /// The disk has stored everything before `lsn`, and the loop knows.
  void make_durable(Lsn lsn) {
    journal.make_durable(lsn);
    run();
  }

 private:
  void take(Duration longest) override { on_take ? on_take(longest) : net.take(longest); }
  [[nodiscard]] bool serves_few() const override { return net.serves_few(); }
  [[nodiscard]] bool has_work() const override { return net.has_work(); }
  void note_durable(Lsn durable) override { net.note_durable(durable); }
  void wake() override { net.wake(); }
  void let_go(Lsn durable) override {
    net.let_go(durable);
    if (on_let_go) on_let_go(durable);
  }
  Compactor::Limits set_limits(Compactor::Limits, Time) override { return limits; }
  void work(Time now) override {
    if (on_work) on_work(now);
  }
  void stand_down() override { ++stood_down_count; }
};

}  // namespace millrace::server
