#include "server/turn/stall_watch.hpp"

#include "server/turn/test_loop.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// A server that only records: what comes due is done by `pass`.
struct Watched {
  TestLoop loop;
  FakeJournal& journal = loop.journal;
  std::string logged;
  Log log{[this](std::string_view line) { logged += line; }};
  StallWatch watch{
      {.ticker = loop.ticker, .commits = loop.commits, .journal = journal, .log = log}};

  Watched() {
    loop.on_work = [this](Time now) { watch.work(now); };
  }

  void append() {
    (void)loop.broker.put({.body = "text"}, loop.clock.now());
    loop.run();
  }
  void pass(Duration time) {
    loop.clock.set(loop.clock.now() + time);
    loop.ticker.work(loop.clock.now());
  }
  [[nodiscard]] bool has_logged(std::string_view text) const {
    return logged.find(text) != std::string::npos;
  }
};

}  // namespace

TEST_CASE("stall: a disk that stores nothing for seconds is logged once, and when it continues") {
  Watched watched;
  watched.append();
  watched.pass(kStallMin - 1ms);
  CHECK_FALSE(watched.watch.is_stalled());
  watched.pass(1ms);
  CHECK(watched.watch.is_stalled());
  CHECK(watched.has_logged("journal_stalled seconds=5"));
  CHECK(watched.has_logged("disk=slow"));
  watched.logged.clear();
  watched.pass(10s);
  CHECK(watched.watch.is_stalled());
  CHECK(watched.logged.empty());
  watched.journal.make_durable(watched.journal.end());
  watched.pass(1s);
  CHECK_FALSE(watched.watch.is_stalled());
  CHECK(watched.has_logged("journal_resumed"));
}

TEST_CASE("stall: one that is slow, and keeps up, is none") {
  Watched watched;
  for (int i = 0; i < 20; ++i) {
    watched.append();
    const Lsn end = watched.journal.end();
    watched.pass(kStallMin - 1s);
    watched.journal.make_durable(end);
    CHECK_FALSE(watched.watch.is_stalled());
  }
  CHECK(watched.logged.empty());
}

TEST_CASE("stall: what waits is the oldest, not what came last") {
  Watched watched;
  for (int i = 0; i < 5; ++i) {
    watched.append();
    watched.pass(1s);
  }
  CHECK(watched.watch.is_stalled());
}

TEST_CASE("stall: of a full disk it is said that it is full") {
  Watched watched;
  watched.journal.set_full(true);
  watched.append();
  watched.pass(kStallMin);
  CHECK(watched.has_logged("disk=full"));
}

}  // namespace millrace::server
