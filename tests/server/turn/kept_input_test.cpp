#include "server/turn/kept_input.hpp"

#include "server/turn/test_loop.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

constexpr std::size_t kLong = kPipelinedBytesMax + 1;

struct Keeper final : InputKeeper {
  [[nodiscard]] bool wants_input() const override { return wants; }
  void ask_again() override { ++asked; }
  void drop() override {
    is_dropped = true;
    input.count(*this, 0);
  }
  explicit Keeper(KeptInput& all) : input(all) {}
  ~Keeper() override { input.count(*this, 0); }

  [[nodiscard]] bool admits() { return input.admits(*this); }
  void keep(std::size_t bytes) { input.count(*this, bytes); }
  /// Its line has come to its end.
  void execute(bool is_at_work) {
    wants = !is_at_work;
    input.count(*this, kLong, is_at_work);
  }

  KeptInput& input;
  bool wants = true;
  int asked = 0;
  bool is_dropped = false;
};

/// Three that are in the middle of long lines, at a limit that two of them reach.
struct Full {
  TestLoop loop;
  std::string logged;
  Log log{[this](std::string_view line) { logged += line; }};
  KeptInput input{{.turn = loop.turn,
                   .ticker = loop.ticker,
                   .clock = loop.clock,
                   .log = log,
                   .bytes_max = 2 * kLong}};
  Keeper first{input};
  Keeper second{input};
  Keeper third{input};

  Full() {
    for (Keeper* keeper : {&first, &second, &third}) {
      REQUIRE((keeper == &third || keeper->admits()));
      keeper->keep(kLong);
    }
  }

  void pass(Duration time) {
    loop.clock.set(loop.clock.now() + time);
    loop.run();
  }
};

}  // namespace

TEST_CASE("kept input: below the limit all clients are read") {
  Full full;
  full.third.keep(0);
  full.second.keep(kLong - 1);
  CHECK(full.first.admits());
  CHECK(full.second.admits());
  CHECK(full.input.bytes() == 2 * kLong - 1);
}

TEST_CASE("kept input: at the limit one of those with long lines is read, the others wait") {
  Full full;
  CHECK(full.first.admits());
  CHECK_FALSE(full.second.admits());
  CHECK_FALSE(full.third.admits());
  CHECK(full.first.admits());
}

TEST_CASE("kept input: at the limit those that keep little are read") {
  Full full;
  Keeper small{full.input};
  CHECK(small.admits());
  small.keep(kPipelinedBytesMax);
  CHECK(small.admits());
}

TEST_CASE("kept input: the others ask again when there is room") {
  Full full;
  CHECK_FALSE(full.second.admits());
  CHECK_FALSE(full.third.admits());
  full.first.keep(0);
  CHECK(full.second.asked == 1);  // It is the one that is read now.
  CHECK(full.third.asked == 0);
  full.second.keep(0);
  CHECK(full.third.asked == 1);
  CHECK(full.third.admits());
}

TEST_CASE("kept input: one that has executed something is read after the others") {
  Full full;
  full.first.keep(kLong + 1);
  CHECK_FALSE(full.second.admits());
  full.first.keep(kLong);
  CHECK(full.second.asked == 1);
  CHECK(full.second.admits());
  CHECK_FALSE(full.first.admits());
}

TEST_CASE("kept input: one that is held up by something else is not the one that is read") {
  Full full;
  CHECK_FALSE(full.second.admits());
  full.first.wants = false;
  full.third.keep(kLong + 1);
  CHECK(full.second.asked == 1);
  CHECK(full.second.admits());
}

TEST_CASE("kept input: no other is read while a long line is executed") {
  Full full;
  CHECK_FALSE(full.second.admits());
  full.first.execute(true);
  CHECK_FALSE(full.second.admits());
  CHECK_FALSE(full.third.admits());
  // Nobody is to blame.
  full.pass(2 * kKeptInputTime);
  CHECK_FALSE(full.first.is_dropped);
  CHECK_FALSE(full.second.is_dropped);
  CHECK(full.second.asked == 0);
  full.first.keep(0);
  full.third.keep(2 * kLong);
  CHECK(full.second.admits());
}

TEST_CASE("kept input: what clients that are gone have left behind counts") {
  Full full;
  full.first.keep(0);
  full.third.keep(0);
  CHECK(full.second.admits());
  full.input.count_left_behind(kLong);
  // The limit is reached, and nobody may add to it.
  CHECK_FALSE(full.second.admits());
  full.pass(2 * kKeptInputTime);
  CHECK_FALSE(full.second.is_dropped);
  full.input.count_left_behind(0);
  CHECK(full.second.asked == 1);
  CHECK(full.second.admits());
}

TEST_CASE("kept input: one that does not get on with its line does not hold up the others") {
  Full full;
  CHECK_FALSE(full.second.admits());
  full.first.execute(true);
  CHECK_FALSE(full.second.admits());
  // It does not read its replies.
  full.first.wants = false;
  full.first.keep(kLong);
  CHECK(full.second.asked == 1);
  CHECK(full.second.admits());
}

TEST_CASE("kept input: one that keeps the others waiting is dropped, with a line in the log") {
  Full full;
  CHECK_FALSE(full.second.admits());
  full.pass(kKeptInputTime - 1ms);
  full.first.keep(kLong + 1);  // More of the same line.
  CHECK_FALSE(full.first.is_dropped);
  full.pass(1ms);
  CHECK(full.first.is_dropped);
  CHECK(full.logged.find("slow_sender_dropped bytes=65538") != std::string::npos);
  // Now it is the turn of the second, for as long.
  CHECK(full.second.asked == 1);
  CHECK_FALSE(full.third.admits());
  full.pass(kKeptInputTime - 1ms);
  CHECK_FALSE(full.second.is_dropped);
  full.pass(1ms);
  CHECK(full.second.is_dropped);
}

TEST_CASE("kept input: nobody is dropped while nobody waits") {
  Full full;
  CHECK(full.first.admits());
  full.pass(2 * kKeptInputTime);
  CHECK_FALSE(full.second.admits());
  full.second.keep(0);
  full.pass(2 * kKeptInputTime);
  CHECK_FALSE(full.first.is_dropped);
}

TEST_CASE("kept input: nobody is dropped during a pause") {
  Full full;
  CHECK_FALSE(full.second.admits());
  full.loop.limits.is_compacting_only = true;
  full.loop.run();
  full.pass(kKeptInputTime);
  full.loop.limits.is_compacting_only = false;
  full.pass(kKeptInputTime - 1ms);
  CHECK_FALSE(full.first.is_dropped);
  full.pass(1ms);
  CHECK(full.first.is_dropped);
}

TEST_CASE("kept input: one that waits may leave") {
  Full full;
  {
    Keeper fourth{full.input};
    fourth.keep(kLong);
    CHECK_FALSE(fourth.admits());
  }
  full.first.keep(0);
  full.second.keep(0);
  CHECK(full.third.admits());
}

}  // namespace millrace::server
