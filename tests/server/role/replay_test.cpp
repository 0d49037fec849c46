#include "server/role/replay.hpp"

#include <stdexcept>

#include "faktory/job/work_unit.hpp"
#include "server/fake_journal.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

constexpr int kBatches = 40;
constexpr int kJobsPerBatch = 1'000;  // some steps of a batch

const auto ignore = [](Lsn) { return true; };

/// More than is decoded ahead.
class Logged {
 public:
  Logged() {
    Ledger written;
    Broker writer(written, format, {});
    for (int batch = 0; batch < kBatches; ++batch) {
      for (int job = 0; job < kJobsPerBatch; ++job) {
        REQUIRE(writer.put({.queue = "old", .body = "a body"}, Time{1s}));
      }
      journal.to_replay.push_back(written.take_batch());
      bytes += journal.to_replay.back().size();
    }
  }

  [[nodiscard]] std::uint64_t jobs() const {
    return broker.view().orders().count(JobState::kReady);
  }

  faktory::WorkUnits format;
  FakeJournal journal;
  Ledger ledger;
  Broker broker{ledger, format, {}};
  std::uint64_t bytes = 0;
};

TEST_CASE("replay: everything is read, in the order of the log") {
  Logged log;
  Lsn reached = 0;
  const auto read = replay(log.journal, log.ledger, [&](Lsn at) {
    CHECK(at >= reached);
    reached = at;
    return true;
  });
  REQUIRE(read);
  CHECK(*read == log.bytes);
  CHECK(log.jobs() == kBatches * kJobsPerBatch);
  CHECK(reached == log.bytes - log.journal.to_replay.back().size());
  CHECK(log.ledger.store().jobs().oldest_place().value() < log.journal.to_replay.front().size());
}

/// Too long to be copied, between short ones.
void add_long_batches(Logged& log) {
  Ledger written;
  Broker writer(written, log.format, {});
  for (int batch = 0; batch < 10; ++batch) {
    const std::size_t bytes = batch % 3 == 0 ? std::size_t{5} << 20 : 100;
    REQUIRE(writer.put({.queue = "long", .body = std::string(bytes, 'b')}, Time{1s}));
    log.journal.to_replay.push_back(written.take_batch());
    log.bytes += log.journal.to_replay.back().size();
  }
}

TEST_CASE("replay: batches that are too long to be copied") {
  for (int round = 0; round < 20; ++round) {
    Logged log;
    log.journal.to_replay.clear();
    log.bytes = 0;
    add_long_batches(log);
    const auto read = replay(log.journal, log.ledger, ignore);
    REQUIRE(read);
    CHECK(*read == log.bytes);
    CHECK(log.jobs() == 10);
  }
}

TEST_CASE("replay: a long batch stays until what was read of it is applied") {
  for (int round = 0; round < 20; ++round) {
    Logged log;
    log.journal.to_replay.clear();
    Ledger written;
    Broker writer(written, log.format, {});
    for (int job = 0; job < 2'000; ++job) {
      REQUIRE(writer.put({.queue = "long", .body = std::string(3'000, 'b')}, Time{1s}));
    }
    log.journal.to_replay.push_back(std::string(written.take_batch()) + "\xff");
    CHECK_FALSE(replay(log.journal, log.ledger, ignore));
    CHECK(log.jobs() > 0);
  }
}

TEST_CASE("replay: applying can give up while the reading thread waits for a long batch") {
  Logged log;
  log.journal.to_replay.clear();
  add_long_batches(log);
  CHECK_FALSE(replay(log.journal, log.ledger, [](Lsn) { return false; }));
}

TEST_CASE("replay: an empty log") {
  faktory::WorkUnits format;
  FakeJournal journal;
  Ledger ledger;
  Broker broker(ledger, format, {});
  const auto read = replay(journal, ledger, ignore);
  REQUIRE(read);
  CHECK(*read == 0);
}

TEST_CASE("replay: what makes no sense ends it, wherever it is") {
  for (const std::size_t place : {std::size_t{0}, std::size_t{kBatches / 2}}) {
    Logged log;
    log.journal.to_replay[place] += "\xff";
    CHECK_FALSE(replay(log.journal, log.ledger, ignore));
    CHECK(log.jobs() >= place * kJobsPerBatch);
    CHECK(log.jobs() <= (place + 1) * kJobsPerBatch);
  }
}

TEST_CASE("replay: what the reading thread throws comes out") {
  Logged log;
  log.journal.before_batch = [count = 0]() mutable {
    if (++count == kBatches) throw std::runtime_error("no memory");
  };
  CHECK_THROWS_WITH((void)replay(log.journal, log.ledger, ignore), "no memory");
}

TEST_CASE("replay: applying can give up while much is decoded ahead") {
  Logged log;
  CHECK_FALSE(replay(log.journal, log.ledger, [](Lsn) { return false; }));
}

}  // namespace
}  // namespace millrace::server
