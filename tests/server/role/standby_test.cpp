#include "server/role/standby.hpp"

#include <memory>
#include <string>
#include <utility>

#include "core/broker/broker.hpp"
#include "faktory/job/work_unit.hpp"
#include "journal/file/simulated_disk.hpp"
#include "journal/shared/replicated_journal.hpp"
#include "journal/shared/simulated_log.hpp"
#include "server/role/replay.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

using Followed = SharedJournal::Followed;

/// A server's state over a shared log.
struct Peer {
  Peer(journal::SimulatedLog& log, const std::string& node) : broker(ledger, format, {}) {
    journal::FileJournalOptions cache_options;
    cache_options.segment_bytes = 1024;
    cache_options.sync_mode = journal::SyncMode::kOff;
    cache_options.is_stepped = true;
    auto cache = journal::FileJournal::open(disk, "/cache", cache_options);
    REQUIRE(cache);
    journal::ReplicatedJournalOptions options;
    options.node = node;
    options.writer = static_cast<std::uint64_t>(node.front());
    options.log = 5;
    options.now = [this] { return now; };
    options.place_bytes = 512;
    options.is_stepped = true;
    using journal::SimulatedLogService;
    journal = std::make_unique<journal::ReplicatedJournal>(
        std::move(*cache),
        std::make_unique<SimulatedLogService>(log, SimulatedLogService::Delivery::kAtOnce),
        options);
    standby = std::make_unique<Standby>(broker, *journal);
    REQUIRE(replay(*journal, ledger, [](Lsn) { return true; }));
  }

  void step() {
    for (int i = 0; i < 4; ++i) {
      journal->step_pump();
      while (journal->step_cache()) {
      }
    }
  }

  /// Works until nothing more arrives.
  Outcome<Followed> work() {
    auto followed = standby->work(now);
    for (int i = 0; i < 4 && followed && *followed == Followed::kOn; ++i) {
      step();
      followed = standby->work(now);
    }
    return followed;
  }

  /// As the leader.
  void put(const std::string& body) {
    REQUIRE(broker.put({.queue = "mail", .body = body}, now));
    ledger.place(journal->append(journal->epoch(), ledger.take_batch()).value().begin);
    step();
  }

  [[nodiscard]] std::uint64_t jobs() const {
    return broker.view().orders().count(JobState::kReady);
  }

  Time now{1'600'000'000s};
  journal::SimulatedDisk disk;
  faktory::WorkUnits format;
  Ledger ledger;
  Broker broker;
  std::unique_ptr<journal::ReplicatedJournal> journal;
  std::unique_ptr<Standby> standby;
};

}  // namespace

TEST_CASE("standby: it takes the lead of a log that nobody leads") {
  journal::SimulatedLog log;
  Peer a(log, "a");
  CHECK(a.work().value() == Followed::kLeads);
}

TEST_CASE("standby: it applies what the leader writes, and leads when that is silent") {
  journal::SimulatedLog log;
  Peer a(log, "a");
  REQUIRE(a.work().value() == Followed::kLeads);
  a.put("before");
  Peer b(log, "b");
  CHECK(b.work().value() == Followed::kOn);
  CHECK(b.jobs() == 1);
  a.put("after");
  CHECK(b.work().value() == Followed::kOn);
  CHECK(b.jobs() == 2);
  b.now += 2s;
  CHECK(b.work().value() == Followed::kLeads);
}

TEST_CASE("standby: its cache keeps only what its state needs") {
  journal::SimulatedLog log;
  Peer a(log, "a");
  REQUIRE(a.work().value() == Followed::kLeads);
  Peer b(log, "b");
  for (int i = 0; i < 40; ++i) {
    a.now += 300ms;
    a.journal->beat();
    a.step();
    b.now += 300ms;
    REQUIRE(b.work().value() == Followed::kOn);
  }
  // The totals are written again, and with them all that is needed.
  a.ledger.count_processed(a.now);
  a.put("x");
  REQUIRE(b.work().value() == Followed::kOn);
  CHECK(b.journal->extent().begin > 0);
}

TEST_CASE("standby: it says when the log was trimmed beyond what it has applied") {
  journal::SimulatedLog log;
  Peer a(log, "a");
  REQUIRE(a.work().value() == Followed::kLeads);
  Peer b(log, "b");
  REQUIRE(b.work().value() == Followed::kOn);
  for (int i = 0; i < 8; ++i) a.put(std::string(400, 'x'));
  log.trim(log.last());
  CHECK(b.work().value() == Followed::kUseless);
  CHECK(b.jobs() == 0);
}

TEST_CASE("standby: a batch that makes no sense is a problem") {
  journal::SimulatedLog log;
  Peer a(log, "a");
  REQUIRE(a.work().value() == Followed::kLeads);
  Peer b(log, "b");
  REQUIRE(a.journal->append(a.journal->epoch(), "\xff"));
  a.step();
  CHECK_FALSE(b.work());
}

}  // namespace millrace::server
