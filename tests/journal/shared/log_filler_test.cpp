#include "journal/shared/log_filler.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "core/model/entry_head.hpp"
#include "journal/shared/simulated_log.hpp"
#include "support/doctest.hpp"

namespace millrace::journal {
namespace {

using namespace std::chrono_literals;

struct Filling {
  explicit Filling(SimulatedLog& log, std::string name = "data of host")
      : service(log, SimulatedLogService::Delivery::kAtOnce),
        filler(service, {.name = std::move(name),
                         .writer = ++numbers,
                         .log = numbers,
                         .now = [this] { return now += 1s; },
                         .patience = 3s,
                         .joined_bytes = 1}) {}

  /// Adds the batches up to the first problem, and waits until they are stored.
  Outcome<Done> add(const std::vector<std::string>& batches) {
    if (auto begun = filler.begin(); !begun) return begun;
    for (const std::string& batch : batches) {
      if (auto added = filler.add(batch); !added) return added;
    }
    return filler.settle();
  }

  Outcome<Done> fill(const std::vector<std::string>& batches) {
    const auto added = add(batches);
    return added ? filler.release() : added;
  }

  Time now{};
  SimulatedLogService service;
  LogFiller filler;
  static inline std::uint64_t numbers = 70;
};

/// The kinds and batches of all entries.
std::vector<std::string> told(SimulatedLog& log) {
  SimulatedLogService service(log, SimulatedLogService::Delivery::kAtOnce);
  std::vector<std::string> all;
  const auto chunk = service.follow(0, 1 << 20, {});
  REQUIRE(chunk);
  for (const auto& entry : chunk->entries) {
    std::string_view rest = entry.bytes;
    const auto head = take_head(rest);
    REQUIRE((head && *head));
    CHECK((*head)->sequence == entry.first);
    const auto kind = static_cast<int>((*head)->kind);
    all.push_back(std::to_string(kind) + std::string(rest));
  }
  return all;
}

const std::vector<std::string> kBatches = {"\x01one", "\x01two", "\x01three"};
const std::vector<std::string> kWhole = {"4", "0\x01one", "0\x01two", "0\x01three", "3"};

}  // namespace

TEST_CASE("log filler: the batches are in the log, between hold and release") {
  SimulatedLog log;
  Filling filling(log);
  REQUIRE(filling.fill(kBatches));
  CHECK(filling.filler.batches() == 3);
  CHECK(told(log) == kWhole);
}

TEST_CASE("log filler: what ended anywhere is gone on with, and nothing is there twice") {
  for (std::size_t cut = 0; cut <= kBatches.size(); ++cut) {
    CAPTURE(cut);
    SimulatedLog log;
    const std::vector<std::string> some(kBatches.begin(),
                                        kBatches.begin() + static_cast<std::ptrdiff_t>(cut));
    REQUIRE(Filling(log).add(some));
    Filling second(log);
    REQUIRE(second.fill(kBatches));
    CHECK(second.filler.batches() == 3);
    CHECK(told(log) == kWhole);
  }
}

TEST_CASE("log filler: done once more it changes nothing, even after a server has led") {
  SimulatedLog log;
  REQUIRE(Filling(log).fill(kBatches));
  log.append(log.last(), {.bytes = encode(EntryHead{.kind = EntryHead::Kind::kClaim,
                                                    .log = 71,
                                                    .sequence = log.last() + 1,
                                                    .epoch = 2,
                                                    .node = "a",
                                                    .notes = {}})});
  const Sequence last = log.last();
  CHECK(Filling(log).fill(kBatches));
  CHECK(log.last() == last);
}

TEST_CASE("log filler: a batch of several messages is compared as a whole") {
  SimulatedLog log;
  log.message_bytes_max = 16;
  const std::vector<std::string> batches = {"\x01" + std::string(100, 'x'), "\x01y"};
  REQUIRE(Filling(log).add({batches[0]}));
  REQUIRE(Filling(log).fill(batches));
  CHECK(told(log) == std::vector<std::string>{"4", "0" + batches[0], "0\x01y", "3"});
}

TEST_CASE("log filler: after the beginning of an entry it holds the log anew") {
  SimulatedLog log;
  log.message_bytes_max = 60;
  const std::vector<std::string> batches = {"\x01one", "\x01" + std::string(300, 'x'), "\x01three"};
  REQUIRE(Filling(log).add({batches[0]}));
  Filling cut(log);
  REQUIRE(cut.add(batches));
  const std::vector<std::string> whole = {"4", "0" + batches[0], "0" + batches[1],
                                          "0" + batches[2]};
  REQUIRE(told(log) == whole);

  // The second batch lost its end.
  SimulatedLog torn;
  torn.message_bytes_max = 60;
  Sequence sequence = 1;
  for (; !log.at(sequence).is_begin || log.at(sequence).is_end; ++sequence) {
    torn.append(sequence - 1, log.at(sequence));
  }
  torn.append(sequence - 1, log.at(sequence));
  for (int i = 0; i < 2; ++i) {
    REQUIRE(Filling(torn).fill(batches));
    CHECK(told(torn) == std::vector<std::string>{"4", "0" + batches[0], "4", "0" + batches[1],
                                                 "0" + batches[2], "3"});
  }
}

TEST_CASE("log filler: a head of a former shared log is left out, and a beat with it") {
  SimulatedLog log;
  EntryHead head{.sequence = 9, .node = {}, .notes = {}};
  const std::string batch = encode(head) + "\x01one";
  head.kind = EntryHead::Kind::kBeat;
  REQUIRE(Filling(log).fill({batch, encode(head)}));
  CHECK(told(log) == std::vector<std::string>{"4", "0\x01one", "3"});
}

TEST_CASE("log filler: a log with anything else is refused, and stays as it is") {
  SimulatedLog led;
  led.append(0, {.bytes = encode(EntryHead{.kind = EntryHead::Kind::kClaim,
                                           .log = 5,
                                           .sequence = 1,
                                           .epoch = 1,
                                           .node = "a",
                                           .notes = {}})});
  CHECK_FALSE(Filling(led).filler.begin());
  CHECK(led.last() == 1);

  SimulatedLog others;
  REQUIRE(Filling(others).add(kBatches));
  CHECK_FALSE(Filling(others, "other data").filler.begin());
  CHECK_FALSE(Filling(others).add({"\x01one", "\x01other"}));
  CHECK(others.last() == 4);

  SimulatedLog foreign;
  foreign.append(0, {.bytes = "an order of a shop"});
  CHECK_FALSE(Filling(foreign).filler.begin());

  SimulatedLog trimmed;
  REQUIRE(Filling(trimmed).fill(kBatches));
  trimmed.trim(3);
  CHECK_FALSE(Filling(trimmed).filler.begin());
}

TEST_CASE("log filler: short batches are joined") {
  SimulatedLog log;
  SimulatedLogService service(log, SimulatedLogService::Delivery::kAtOnce);
  LogFiller filler(service, {.name = "data", .writer = 1, .log = 1, .now = [] { return Time{}; }});
  REQUIRE(filler.begin());
  for (const std::string& batch : kBatches) REQUIRE(filler.add(batch));
  REQUIRE(filler.settle());
  REQUIRE(filler.release());
  CHECK(filler.batches() == 3);
  CHECK(told(log) == std::vector<std::string>{"4", "0\x01one\x01two\x01three", "3"});
}

TEST_CASE("log filler: an answer that is lost is found by reading") {
  SimulatedLog log;
  Filling filling(log);
  REQUIRE(filling.filler.begin());
  filling.service.is_cut_off = true;
  REQUIRE(filling.filler.add(kBatches[0]));
  REQUIRE(filling.filler.add(kBatches[1]));
  filling.service.is_cut_off = false;
  REQUIRE(filling.filler.add(kBatches[2]));
  REQUIRE(filling.filler.settle());
  REQUIRE(filling.filler.release());
  CHECK(told(log) == kWhole);
}

TEST_CASE("log filler: what a former one sent late is gone on with by another one") {
  SimulatedLog log;
  Filling late(log);
  REQUIRE(late.filler.begin());
  REQUIRE(late.filler.settle());
  Filling second(log);
  REQUIRE(second.filler.begin());
  REQUIRE(late.filler.add(kBatches[0]));
  REQUIRE(late.filler.settle());
  auto added = second.filler.add(kBatches[0]);
  if (added) added = second.filler.settle();
  REQUIRE_FALSE(added);
  CHECK(added.error().is_passing);
  REQUIRE(Filling(log).fill(kBatches));
  CHECK(told(log) == kWhole);
}

TEST_CASE("log filler: without an answer it ends, and another one goes on") {
  SimulatedLog log;
  Filling cut(log);
  REQUIRE(cut.filler.begin());
  cut.service.is_cut_off = true;
  REQUIRE(cut.filler.add(kBatches[0]));
  CHECK_FALSE(cut.filler.settle());
  REQUIRE(Filling(log).fill(kBatches));
  CHECK(told(log) == kWhole);
}

}  // namespace millrace::journal
