#include "server/clock_watch.hpp"

#include "server/turn/test_loop.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// A loop that does what is due when the test lets time pass.
struct SetClock {
  TestLoop loop;
  std::string logged;
  Log log{[this](std::string_view line) { logged += line; }};
  ClockWatch watch{{.ticker = loop.ticker, .clock = loop.clock, .broker = loop.broker, .log = log}};

  SetClock() { loop.clock.let_step(); }

  void push(Duration in) {
    const Time now = loop.clock.now();
    const Time due = loop.broker.view().wall_clock().shown(now + in);
    REQUIRE(loop.broker.put(
        {.kind = JobKind::kWorkUnit, .queue = "default", .body = "text", .due = due}, now));
  }
  void pass(Duration time) {
    loop.clock.set(loop.clock.now() + time);
    loop.ticker.work(loop.clock.now());
  }
  [[nodiscard]] std::uint64_t ready() const {
    return loop.broker.view().orders().count(JobState::kReady);
  }
  [[nodiscard]] bool has_logged(std::string_view text) const {
    return logged.find(text) != std::string::npos;
  }
};

}  // namespace

TEST_CASE("clock watch: while nobody sets the clock, nothing is told") {
  SetClock set;
  set.watch.begin(Time{});
  for (int i = 0; i < 10; ++i) set.pass(1s);
  CHECK(set.watch.steps() == 0);
  CHECK(set.logged.empty());
}

TEST_CASE("clock watch: a step forward is noticed within a second, and what is due is done then") {
  SetClock set;
  set.watch.begin(Time{});
  set.push(5h);
  set.loop.clock.step(5h);
  set.pass(999ms);
  CHECK(set.ready() == 0);
  set.pass(1ms);
  CHECK(set.ready() == 1);
  CHECK(set.watch.steps() == 1);
  CHECK(set.has_logged("clock_step seconds=18000.0 direction=forward"));
}

TEST_CASE("clock watch: after a step back a job with a time waits for that time") {
  SetClock set;
  set.watch.begin(Time{});
  set.push(10s);
  set.loop.clock.step(-1h);
  set.pass(1s);
  CHECK(set.has_logged("clock_step seconds=3600.0 direction=back"));
  set.pass(1h + 8s);
  CHECK(set.ready() == 0);
  set.pass(1s);
  CHECK(set.ready() == 1);
  CHECK(set.watch.steps() == 1);
}

TEST_CASE("clock watch: each step is told once") {
  SetClock set;
  set.watch.begin(Time{});
  set.loop.clock.step(1h);
  set.pass(1s);
  set.logged.clear();
  set.pass(1s);
  CHECK(set.logged.empty());
  set.loop.clock.step(-1h);
  set.pass(1s);
  CHECK(set.watch.steps() == 2);
  CHECK(set.loop.broker.view().wall_clock().ahead == Duration{});
}

}  // namespace millrace::server
