#include "journal/shared/log_pump.hpp"

#include <chrono>
#include <functional>
#include <future>
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
  Sequence last = 1;  ///< of what was appended
  Lsn written = 0;
  LogPump pump{service, [this] { ++wakes; }, [this] { return written; }};

  Leading() {
    log.append(0, {.bytes = "claim"});
    pump.start(0);
    pump.step({});
    pump.lead(pump.take_arrived().seen);
  }

  void append(std::string bytes, Lsn end) {
    ++last;
    pump.append({.first = last, .last = last, .bytes = std::move(bytes)}, end);
  }

  /// What is on its way gets through, and the answers back, in each round.
  void deliver_all(int rounds, LogService::Duration longest = {}) {
    for (int i = 0; i < rounds; ++i) {
      pump.step(longest);
      while (service.deliver_request()) {
      }
      while (service.deliver_answer()) {
      }
      pump.step(longest);
    }
  }

  /// Another server's entry.
  void store_foreign() { log.append(log.last(), {.bytes = "foreign"}); }

  [[nodiscard]] std::vector<std::string> stored() const {
    std::vector<std::string> all;
    for (Sequence at = 2; at <= log.last(); ++at) all.push_back(log.at(at).bytes);
    return all;
  }
};

/// A connection where something happens during each call; or after a look at the log, before its
/// caller knows.
class Interrupted final : public LogService {
 public:
  explicit Interrupted(SimulatedLogService& service) : service_(service) {}

  std::function<void()> during_call = [] {};
  std::function<void()> after_follow;

  [[nodiscard]] Sequence message_count(std::size_t bytes) const override {
    return service_.message_count(bytes);
  }
  [[nodiscard]] Outcome<Extent> extent() override {
    during_call();
    return service_.extent();
  }
  [[nodiscard]] Outcome<Chunk> follow(Sequence after, std::size_t bytes_max,
                                      Duration longest) override {
    during_call();
    auto chunk = service_.follow(after, bytes_max, longest);
    if (after_follow) std::exchange(after_follow, nullptr)();
    return chunk;
  }
  void append(Entry entry) override {
    during_call();
    service_.append(std::move(entry));
  }
  [[nodiscard]] std::vector<Answer> answers(Duration longest) override {
    during_call();
    return service_.answers(longest);
  }
  [[nodiscard]] Outcome<Done> trim(Sequence before) override {
    during_call();
    return service_.trim(before);
  }
  void wake() noexcept override { service_.wake(); }

 private:
  SimulatedLogService& service_;
};

/// A pump over a slow engine: while that is at work, the server asks the pump for something.
struct Asked {
  SimulatedLog log;
  SimulatedLogService service{log, SimulatedLogService::Delivery::kAtOnce};
  Interrupted slow{service};
  LogPump pump{slow, [] {}};
  std::vector<std::future<bool>> answers;

  Asked() {
    slow.during_call = [this] {
      answers.push_back(std::async(std::launch::async, [this] { return pump.is_claiming(); }));
      CHECK(answers.back().wait_for(std::chrono::seconds(10)) == std::future_status::ready);
    };
  }
  ~Asked() {
    slow.during_call = [] {};
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;
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
  leading.append("a", 10);
  leading.append("b", 20);
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
  leading.append("a", 10);
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
  leading.append("a", 10);
  leading.append("b", 20);
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
  leading.append("a", 10);
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
  leading.append("a", 10);
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
  leading.append("a", 10);
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

TEST_CASE_FIXTURE(Asked, "log pump: the server is answered while the engine takes a claim") {
  pump.start(0);
  pump.ask_end();
  pump.step({});
  pump.claim(0, "claim");
  pump.step({});
  CHECK(log.last() == 1);
}

TEST_CASE_FIXTURE(Asked, "log pump: the server is answered while the engine takes an entry") {
  log.append(0, {.bytes = "claim"});
  pump.start(0);
  pump.step({});
  pump.lead(1);
  log.refuses_with = "maximum bytes exceeded";
  pump.append({.first = 2, .last = 2, .bytes = "a"}, 10);
  pump.step({});
  log.refuses_with = {};
  for (int i = 0; i < 3; ++i) pump.step({});
  CHECK(pump.stored() == 10);
  pump.trim(2);
  pump.step({});
  CHECK(log.begin() == 2);
}

TEST_CASE("log pump: an entry of messages that the engine takes no more ends the lead") {
  Leading leading;
  leading.append("a", 10);
  leading.deliver_all(2);
  leading.log.message_bytes_max = 3;
  leading.append("longer", 20);
  leading.append("b", 30);
  leading.deliver_all(2);
  CHECK(leading.pump.mode() == LogPump::Mode::kDeposed);
  CHECK(leading.stored() == std::vector<std::string>{"a"});
}

TEST_CASE("log pump: the answer to a claim that comes after leading is not one to an append") {
  ClaimedTwice claimed;
  claimed.pump.step({});
  REQUIRE(claimed.service.has_requests());
  claimed.pump.lead(claimed.pump.take_arrived().seen);
  claimed.pump.append({.first = 2, .last = 2, .bytes = "a"}, 10);
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
  claimed.pump.append({.first = 2, .last = 2, .bytes = "a"}, 10);
  for (int i = 0; i < 2; ++i) claimed.deliver_all();
  CHECK(claimed.pump.stored() == 10);
  CHECK(claimed.log.last() == 2);
}

TEST_CASE("log pump: why a full log stores nothing is told, until it has room") {
  Leading leading;
  leading.log.refuses_with = "maximum bytes exceeded";
  leading.append("a", 10);
  leading.deliver_all(3);
  CHECK(leading.pump.problem() == "maximum bytes exceeded");
  CHECK(leading.pump.mode() == LogPump::Mode::kLeading);
  leading.log.refuses_with = {};
  leading.deliver_all(3);
  CHECK(leading.pump.stored() == 10);
  CHECK(leading.pump.problem().empty());
  CHECK(leading.stored() == std::vector<std::string>{"a"});
}

TEST_CASE("log pump: what a full log refuses is sent to it seldom") {
  Leading leading;
  leading.log.refuses_with = "maximum bytes exceeded";
  leading.append("a", 10);
  leading.deliver_all(4);
  const std::uint64_t appends = leading.service.appends();
  const auto begin = std::chrono::steady_clock::now();
  leading.deliver_all(4, std::chrono::milliseconds(50));
  const auto pauses = (std::chrono::steady_clock::now() - begin) / std::chrono::milliseconds(50);
  CHECK(leading.service.appends() - appends > 0);
  CHECK(leading.service.appends() - appends <= static_cast<std::uint64_t>(pauses));
}

TEST_CASE("log pump: a claim that a full log refuses is told of, and may be made again") {
  SimulatedLog log;
  SimulatedLogService service(log, SimulatedLogService::Delivery::kAtOnce);
  LogPump pump(service, [] {});
  pump.start(0);
  log.refuses_with = "maximum bytes exceeded";
  pump.claim(0, "claim");
  for (int i = 0; i < 3; ++i) pump.step({});
  CHECK(pump.problem() == "maximum bytes exceeded");
  CHECK(pump.can_read());
  CHECK_FALSE(pump.is_claiming());
  log.refuses_with = {};
  pump.claim(0, "claim");
  for (int i = 0; i < 3; ++i) pump.step({});
  CHECK(log.last() == 1);
}

TEST_CASE("log pump: a leader whose log was set back stops, and stores nothing more") {
  Leading leading;
  leading.append("a", 10);
  leading.deliver_all(3);
  REQUIRE(leading.pump.stored() == 10);
  leading.log.set_back(1);
  leading.append("b", 20);
  leading.deliver_all(3);
  CHECK(leading.pump.mode() == LogPump::Mode::kSetBack);
  CHECK(leading.log.last() == 1);
}

TEST_CASE("log pump: a claim finds that the log was set back") {
  SimulatedLog log;
  SimulatedLogService service(log, SimulatedLogService::Delivery::kAtOnce);
  for (Sequence i = 0; i < 5; ++i) log.append(i, {.bytes = "x"});
  LogPump pump(service, [] {});
  pump.start(0);
  pump.step({});
  log.set_back(3);
  pump.claim(pump.take_arrived().seen, "claim");
  pump.step({});
  CHECK(pump.mode() == LogPump::Mode::kSetBack);
  CHECK(log.last() == 3);
}

TEST_CASE("log pump: with a slow disk, no more is stored than may wait for it in memory") {
  Leading leading;
  constexpr Lsn kPart = LogPump::kBehindBytes / 4;
  for (Lsn end = kPart; end <= 8 * kPart; end += kPart) leading.append("a", end);
  leading.deliver_all(4);
  CHECK(leading.pump.stored() == 4 * kPart);
  leading.written = 2 * kPart;
  leading.deliver_all(4);
  CHECK(leading.pump.stored() == 6 * kPart);
}

TEST_CASE("log pump: an entry longer than the limit is sent when the disk has all before it") {
  Leading leading;
  leading.append("a", 10);
  leading.deliver_all(2);
  leading.written = 10;
  leading.append("b", 10 + 2 * LogPump::kBehindBytes);
  leading.deliver_all(2);
  CHECK(leading.pump.stored() == 10 + 2 * LogPump::kBehindBytes);
}

TEST_CASE("log pump: a log that is trimmed away at the last moment cannot be led") {
  SimulatedLog log;
  SimulatedLogService service(log, SimulatedLogService::Delivery::kAtOnce);
  log.append(0, {.bytes = "claim"});
  LogPump pump(service, [] {});
  pump.start(0);
  pump.step({});
  const Sequence seen = pump.take_arrived().seen;
  for (Sequence i = 1; i < 5; ++i) log.append(i, {.bytes = "x"});
  log.trim(5);
  pump.step({});
  pump.lead(seen);
  CHECK(pump.mode() == LogPump::Mode::kTrimmed);
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
