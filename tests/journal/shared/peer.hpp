#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "journal/file/simulated_disk.hpp"
#include "journal/fixture.hpp"
#include "journal/shared/replicated_journal.hpp"
#include "journal/shared/simulated_log.hpp"

namespace millrace::journal {

/// A server that shares a log, with a disk and a connection of its own. Its journal can be opened
/// again and again.
class Peer {
 public:
  Peer(SimulatedLog& log, std::string node) : log_(&log), node_(std::move(node)) { open(); }

  /// Opens the journal with another log.
  void move_to(SimulatedLog& log) {
    log_ = &log;
    open();
  }

  void open() {
    journal.reset();
    service = nullptr;
    batches.clear();
    FileJournalOptions cache;
    cache.segment_bytes = 1024;
    cache.sync_mode = SyncMode::kOff;
    cache.salt = 7;
    cache.is_stepped = true;
    auto opened = FileJournal::open(disk, "/cache", cache);
    REQUIRE(opened);
    auto connection =
        std::make_unique<SimulatedLogService>(*log_, SimulatedLogService::Delivery::kAtOnce);
    service = connection.get();
    ReplicatedJournalOptions options;
    options.node = node_;
    options.notes = "at " + node_;
    options.writer = ++writers_;
    options.log = log_name;
    options.now = [this] { return now; };
    options.is_stepped = true;
    options.holds = holds;
    journal =
        std::make_unique<ReplicatedJournal>(std::move(*opened), std::move(connection), options);
    replayed = journal->replay([this](std::string_view bytes, Lsn) { return take(bytes); });
  }

  Outcome<SharedJournal::Followed> follow() {
    step();
    return journal->follow([this](std::string_view bytes, Lsn) { return take(bytes); });
  }

  /// Follows, and whether that is what came of it.
  bool followed(SharedJournal::Followed expected) {
    const auto found = follow();
    return found && *found == expected;
  }

  /// Claims, and is to get the lead.
  void lead() {
    REQUIRE(follow());
    REQUIRE(journal->may_claim());
    journal->claim();
    REQUIRE(followed(SharedJournal::Followed::kLeads));
    epoch = journal->epoch();
  }

  void step() {
    for (int i = 0; i < 8; ++i) {
      journal->step_pump();
      while (journal->step_cache()) {
      }
    }
  }

  Outcome<Done> take(std::string_view entry) {
    REQUIRE(take_head(entry));
    if (!entry.empty()) batches.emplace_back(entry);
    return Done{};
  }

  SimulatedDisk disk;
  std::unique_ptr<ReplicatedJournal> journal;
  SimulatedLogService* service = nullptr;
  Outcome<Done> replayed = Done{};
  std::vector<std::string> batches;  ///< that it was handed
  Epoch epoch{};
  Time now{std::chrono::seconds(1000)};
  // From the next `open` on.
  bool holds = false;
  std::uint64_t log_name = 5;

 private:
  SimulatedLog* log_;
  const std::string node_;
  static inline std::uint64_t writers_ = 100;
};

}  // namespace millrace::journal
