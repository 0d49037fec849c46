#include "server/role/lease_keeper.hpp"

#include <memory>
#include <string_view>
#include <utility>

#include "faktory/job/work_unit.hpp"
#include "journal/file/simulated_disk.hpp"
#include "journal/shared/replicated_journal.hpp"
#include "journal/shared/simulated_log.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

constexpr Duration kTestLease = 1s;

/// A server that has just taken the lead of a shared log. Its time is what the test says.
struct Leading {
  Leading() {
    journal::FileJournalOptions cache_options;
    cache_options.sync_mode = journal::SyncMode::kOff;
    cache_options.is_stepped = true;
    auto cache = journal::FileJournal::open(disk, "/cache", cache_options);
    REQUIRE(cache);
    using journal::SimulatedLogService;
    auto connection =
        std::make_unique<SimulatedLogService>(log, SimulatedLogService::Delivery::kAtOnce);
    service = connection.get();
    journal::ReplicatedJournalOptions options;
    options.node = "a";
    options.writer = 1;
    options.log = 5;
    options.lease = kTestLease;
    options.now = [this] { return now; };
    options.is_stepped = true;
    journal = std::make_unique<journal::ReplicatedJournal>(std::move(*cache), std::move(connection),
                                                           options);
    const auto ignore = [](std::string_view, Lsn) -> Outcome<Done> { return Done{}; };
    REQUIRE(journal->replay(ignore));
    while (journal->follow(ignore).value() != SharedJournal::Followed::kLeads) {
      if (journal->may_claim()) journal->claim();
      step();
    }
    keeper.emplace(ticker, *journal, [this](bool is_lost_now, Time) {
      ++looks;
      is_lost = is_lost_now;
    });
  }

  void step() {
    journal->step_pump();
    while (journal->step_cache()) {
    }
  }

  /// Time passes, and the loop runs.
  void pass(Duration duration) {
    for (const Time end = now + duration; now < end;) {
      now += 10ms;
      ticker.work(now);
      step();
    }
  }

  Time now{1'600'000'000s};
  journal::SimulatedDisk disk;
  journal::SimulatedLog log;
  journal::SimulatedLogService* service = nullptr;
  std::unique_ptr<journal::ReplicatedJournal> journal;
  faktory::WorkUnits format;
  Ledger ledger;
  Broker broker{ledger, format, {}};
  Ticker ticker{broker};
  std::optional<LeaseKeeper> keeper;
  int looks = 0;
  bool is_lost = false;
};

}  // namespace

TEST_CASE("lease keeper: a leader that does nothing else keeps its lease") {
  Leading leading;
  leading.keeper->begin();
  for (int i = 0; i < 100; ++i) {
    leading.pass(100ms);
    CHECK_FALSE(leading.is_lost);
    CHECK(leading.journal->may_answer());
  }
  CHECK(leading.looks >= 20);
}

TEST_CASE("lease keeper: touch is lost after two leases and a quarter, and found again") {
  Leading leading;
  leading.keeper->begin();
  leading.pass(1s);
  leading.service->is_cut_off = true;
  leading.pass(1900ms);
  CHECK_FALSE(leading.is_lost);
  leading.pass(500ms);
  CHECK(leading.is_lost);
  const int looks = leading.looks;
  leading.pass(200ms);
  CHECK(leading.looks >= looks + 10);
  leading.service->is_cut_off = false;
  leading.pass(1s);
  CHECK_FALSE(leading.is_lost);
}

TEST_CASE("lease keeper: a clock that goes on from another server's time loses no touch") {
  Leading leading;
  leading.now += 1h;
  leading.keeper->begin();
  for (int i = 0; i < 400; ++i) {
    leading.pass(10ms);
    CHECK_FALSE(leading.is_lost);
  }
  CHECK(leading.journal->may_answer());
}

TEST_CASE(
    "lease keeper: after such a jump, touch that is not found counts as lost in three leases") {
  Leading leading;
  leading.service->is_cut_off = true;
  leading.now += 1h;
  leading.keeper->begin();
  leading.pass(3 * kTestLease - 50ms);
  CHECK_FALSE(leading.is_lost);
  leading.pass(500ms);
  CHECK(leading.is_lost);
  leading.service->is_cut_off = false;
  leading.pass(1s);
  CHECK_FALSE(leading.is_lost);
}

}  // namespace millrace::server
