#include "journal/shared/log_pump.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "journal/shared/simulated_log.hpp"
#include "support/doctest.hpp"

namespace millrace::journal {
namespace {

/// A pump that leads, over a connection whose messages the test delivers.
struct Leading {
  SimulatedLog log;
  SimulatedLogService service{log, SimulatedLogService::Delivery::kStepped};
  int wakes = 0;
  LogPump pump{service, [this] { ++wakes; }};

  Leading() {
    log.append(0, {.bytes = "claim"});
    pump.start(0);
    pump.step({});
    pump.lead(pump.take_arrived().seen);
  }

  /// Another server's entry.
  void store_foreign() { log.append(log.last(), {.bytes = "foreign"}); }

  [[nodiscard]] std::vector<std::string> stored() const {
    std::vector<std::string> all;
    for (Sequence at = 2; at <= log.last(); ++at) all.push_back(log.at(at).bytes);
    return all;
  }
};

/// A connection where something happens after each look at the log, before its caller knows.
class Interrupted final : public LogService {
 public:
  explicit Interrupted(SimulatedLogService& service) : service_(service) {}

  std::function<void()> after_follow;

  [[nodiscard]] Sequence message_count(std::size_t bytes) const override {
    return service_.message_count(bytes);
  }
  [[nodiscard]] Outcome<Extent> extent() override { return service_.extent(); }
  [[nodiscard]] Outcome<Chunk> follow(Sequence after, std::size_t bytes_max,
                                      Duration longest) override {
    auto chunk = service_.follow(after, bytes_max, longest);
    if (after_follow) std::exchange(after_follow, nullptr)();
    return chunk;
  }
  Sequence append(Sequence expected_last, std::string bytes) override {
    return service_.append(expected_last, std::move(bytes));
  }
  [[nodiscard]] std::vector<Answer> answers(Duration longest) override {
    return service_.answers(longest);
  }
  [[nodiscard]] Outcome<Done> trim(Sequence before) override { return service_.trim(before); }
  void wake() noexcept override { service_.wake(); }

 private:
  SimulatedLogService& service_;
};

/// A pump that has claimed twice: it had no answer to its first claim, and finds it in the log
/// right after it was asked for the second one.
struct ClaimedTwice {
  SimulatedLog log;
  SimulatedLogService service{log, SimulatedLogService::Delivery::kStepped};
  Interrupted interrupted{service};
  LogPump pump{interrupted, [] {}};

  ClaimedTwice() {
    pump.start(0);
    pump.claim(0, "first claim");
    pump.step({});
    service.time_out();
    pump.step({});
    pump.step({});
    REQUIRE_FALSE(pump.is_claiming());
    REQUIRE(service.deliver_request());
    interrupted.after_follow = [this] { pump.claim(0, "second claim"); };
    pump.step({});
  }

  void deliver_all() {
    while (service.deliver_request()) {
    }
    while (service.deliver_answer()) {
    }
    pump.step({});
  }
};

}  // namespace

TEST_CASE("log pump: entries are sent in order, several at a time, and told when stored") {
  Leading leading;
  leading.pump.append("a", 10);
  leading.pump.append("b", 20);
  leading.pump.step({});
  while (leading.service.deliver_request()) {
  }
  CHECK(leading.service.deliver_answer());
  leading.pump.step({});
  CHECK(leading.pump.stored() == 10);
  CHECK(leading.service.deliver_answer());
  leading.pump.step({});
  CHECK(leading.pump.stored() == 20);
  CHECK(leading.stored() == std::vector<std::string>{"a", "b"});
}

TEST_CASE("log pump: an entry whose answer is lost is found by reading, and stored once") {
  Leading leading;
  leading.pump.append("a", 10);
  leading.pump.step({});
  CHECK(leading.service.deliver_request());
  leading.service.time_out();
  leading.pump.step({});
  CHECK(leading.pump.stored() == 0);
  leading.pump.step({});
  CHECK(leading.pump.stored() == 10);
  CHECK(leading.stored() == std::vector<std::string>{"a"});
}

TEST_CASE("log pump: an entry that never got there is sent again") {
  Leading leading;
  leading.pump.append("a", 10);
  leading.pump.append("b", 20);
  leading.pump.step({});
  CHECK(leading.service.lose_request());
  CHECK(leading.service.lose_request());
  leading.service.time_out();
  leading.pump.step({});
  leading.pump.step({});
  while (leading.service.deliver_request()) {
  }
  while (leading.service.deliver_answer()) {
  }
  leading.pump.step({});
  CHECK(leading.pump.stored() == 20);
  CHECK(leading.stored() == std::vector<std::string>{"a", "b"});
}

TEST_CASE("log pump: an entry that arrives late, after it was sent again, is stored once") {
  Leading leading;
  leading.pump.append("a", 10);
  leading.pump.step({});
  leading.service.time_out();
  leading.pump.step({});
  leading.pump.step({});
  for (int i = 0; i < 4; ++i) {
    while (leading.service.deliver_request()) {
    }
    while (leading.service.deliver_answer()) {
    }
    leading.pump.step({});
  }
  CHECK(leading.pump.stored() == 10);
  CHECK(leading.stored() == std::vector<std::string>{"a"});
}

TEST_CASE("log pump: while the engine cannot be reached nothing is guessed") {
  Leading leading;
  leading.pump.append("a", 10);
  leading.service.is_cut_off = true;
  leading.pump.step({});
  leading.service.time_out();
  for (int i = 0; i < 5; ++i) leading.pump.step({});
  CHECK(leading.pump.stored() == 0);
  CHECK(leading.pump.mode() == LogPump::Mode::kLeading);
  CHECK(leading.pump.problem() == "the engine cannot be reached");
}

TEST_CASE("log pump: another server's entry deposes it for ever") {
  Leading leading;
  leading.store_foreign();
  leading.pump.append("a", 10);
  leading.pump.step({});
  while (leading.service.deliver_request()) {
  }
  while (leading.service.deliver_answer()) {
  }
  leading.pump.step({});
  leading.pump.step({});
  CHECK(leading.pump.mode() == LogPump::Mode::kDeposed);
  CHECK_FALSE(leading.pump.step({}));
  CHECK(leading.pump.stored() == 0);
}

TEST_CASE("log pump: the answer to a claim that comes after leading is not one to an append") {
  ClaimedTwice claimed;
  claimed.pump.step({});
  REQUIRE(claimed.service.has_requests());
  claimed.pump.lead(claimed.pump.take_arrived().seen);
  claimed.pump.append("a", 10);
  for (int i = 0; i < 3; ++i) claimed.deliver_all();
  CHECK(claimed.pump.stored() == 10);
  CHECK(claimed.pump.mode() == LogPump::Mode::kLeading);
  CHECK(claimed.log.last() == 2);
  CHECK(claimed.log.at(2).bytes == "a");
}

TEST_CASE("log pump: a claim that was not sent is dropped when an earlier one leads") {
  ClaimedTwice claimed;
  REQUIRE_FALSE(claimed.service.has_requests());
  claimed.pump.lead(claimed.pump.take_arrived().seen);
  CHECK_FALSE(claimed.pump.is_claiming());
  claimed.pump.append("a", 10);
  for (int i = 0; i < 2; ++i) claimed.deliver_all();
  CHECK(claimed.pump.stored() == 10);
  CHECK(claimed.log.last() == 2);
}

TEST_CASE("log pump: reading ahead is bounded until what arrived is taken") {
  SimulatedLog log;
  SimulatedLogService service(log, SimulatedLogService::Delivery::kAtOnce);
  for (Sequence i = 0; i < 20; ++i) log.append(i, {.bytes = std::string(4 << 20, 'x')});
  LogPump pump(service, [] {});
  pump.start(0);
  for (int i = 0; i < 40; ++i) pump.step({});
  const LogPump::Arrived first = pump.take_arrived();
  CHECK(first.entries.size() == LogPump::kAheadBytes / (4 << 20));
  for (int i = 0; i < 40; ++i) pump.step({});
  CHECK(pump.take_arrived().entries.front().first == first.seen + 1);
}

}  // namespace millrace::journal
