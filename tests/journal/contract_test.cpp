/// What every journal promises (core/ports/journal.hpp), tried on each: on the real disk, on the
/// simulated one, in each sync mode, over a shared log, and as far as it applies on the one that
/// keeps nothing.

#include <algorithm>
#include <chrono>

#include "journal/file/simulated_disk.hpp"
#include "journal/fixture.hpp"
#include "journal/shared/replicated_journal.hpp"
#include "journal/shared/simulated_log.hpp"
#include "journal/volatile/volatile_journal.hpp"

namespace millrace::journal {
namespace {

/// A place where a journal can be opened again and again.
class RealPlace {
 public:
  std::unique_ptr<Journal> open(Batches* replayed = nullptr) {
    return start(files_, directory_.path(), small_segments(), replayed);
  }

 private:
  PosixFileSystem files_;
  TemporaryDirectory directory_;
};

template <SyncMode mode>
class SimulatedPlace {
 public:
  std::unique_ptr<Journal> open(Batches* replayed = nullptr) {
    FileJournalOptions options = small_segments();
    options.sync_mode = mode;
    options.sync_interval = std::chrono::milliseconds(1);
    return start(disk_, "/journal", options, replayed);
  }

 private:
  SimulatedDisk disk_;
};

using AlwaysPlace = SimulatedPlace<SyncMode::kAlways>;
using IntervalPlace = SimulatedPlace<SyncMode::kInterval>;
using OffPlace = SimulatedPlace<SyncMode::kOff>;

class VolatilePlace {
 public:
  std::unique_ptr<Journal> open(Batches* /*replayed*/ = nullptr) {
    return std::make_unique<VolatileJournal>();
  }
};

/// An engine in memory, and one server of it, which takes the lead each time.
class SharedPlace {
 public:
  std::unique_ptr<Journal> open(Batches* replayed = nullptr) {
    const auto visit = [&](std::string_view entry, Lsn /*begin*/) {
      REQUIRE(take_head(entry));
      if (replayed != nullptr && !entry.empty()) replayed->emplace_back(entry);
      return Outcome<Done>(Done{});
    };
    auto journal = join();
    REQUIRE(journal->replay(visit));
    for (;;) {
      const auto followed = journal->follow(visit);
      INFO((followed ? std::string() : followed.error().text));
      REQUIRE(followed);
      if (*followed == SharedJournal::Followed::kLeads) return journal;
      // The former leader's lease is over.
      now_ += std::chrono::seconds(10);
      if (journal->may_claim()) journal->claim();
    }
  }

 private:
  std::unique_ptr<ReplicatedJournal> join() {
    auto cache = FileJournal::open(disk_, "/cache", small_segments());
    REQUIRE(cache);
    ReplicatedJournalOptions options;
    options.writer = ++writers_;
    options.node = "node-" + std::to_string(writers_);
    options.log = 1;
    options.now = [this] { return now_; };
    return std::make_unique<ReplicatedJournal>(
        std::move(*cache),
        std::make_unique<SimulatedLogService>(log_, SimulatedLogService::Delivery::kAtOnce),
        std::move(options));
  }

  SimulatedDisk disk_;
  SimulatedLog log_;
  Time now_{};
  std::uint64_t writers_ = 0;
};

#define KEEPING_PLACES RealPlace, AlwaysPlace, IntervalPlace, OffPlace, SharedPlace
#define ALL_PLACES KEEPING_PLACES, VolatilePlace

Batches many_batches() {
  Batches batches;
  for (std::size_t i = 0; i < 100; ++i) batches.push_back(std::to_string(i) + std::string(i, 'x'));
  return batches;
}

std::vector<Journal::Span> append_all(Journal& journal, const Batches& batches) {
  std::vector<Journal::Span> spans;
  for (const std::string& batch : batches) spans.push_back(append(journal, batch));
  return spans;
}

}  // namespace

TEST_CASE_TEMPLATE("contract: batches follow each other", Place, ALL_PLACES) {
  Place place;
  const auto journal = place.open();
  Lsn end = 0;
  for (const std::string& batch : many_batches()) {
    const Journal::Span span = append(*journal, batch);
    REQUIRE(span.begin >= end);
    REQUIRE(span.end == span.begin + batch.size());
    end = span.end;
  }
}

TEST_CASE_TEMPLATE("contract: sync makes everything durable", Place, ALL_PLACES) {
  Place place;
  const auto journal = place.open();
  const auto spans = append_all(*journal, many_batches());
  journal->sync();
  CHECK(journal->durable() >= spans.back().end);
}

TEST_CASE_TEMPLATE("contract: an empty journal replays nothing", Place, ALL_PLACES) {
  Place place;
  Batches replayed;
  place.open(&replayed);
  CHECK(replayed.empty());
}

TEST_CASE("contract: a volatile journal keeps nothing and says so") {
  VolatileJournal journal;
  const Journal::Span span = append(journal, "batch");
  CHECK(journal.durable() == span.end);
  CHECK_FALSE(journal.read(span.begin, 5));
  std::size_t visited = 0;
  CHECK(journal.replay([&](std::string_view, Lsn) {
    ++visited;
    return Outcome<Done>(Done{});
  }));
  CHECK(visited == 0);
}

TEST_CASE_TEMPLATE("contract: a wake-up comes when a batch is durable", Place, KEEPING_PLACES) {
  Place place;
  const auto journal = place.open();
  DurableBell bell(*journal);
  const Journal::Span span = append(*journal, "batch");
  CHECK(bell.wait_for(span.end));
}

TEST_CASE_TEMPLATE("contract: a batch that nobody waits for is durable when somebody does", Place,
                   KEEPING_PLACES) {
  Place place;
  const auto journal = place.open();
  DurableBell bell(*journal);
  const auto span = journal->append_unhurried(journal->epoch(), "batch");
  REQUIRE(span);
  journal->hurry();
  CHECK(bell.wait_for(span->end));
}

TEST_CASE_TEMPLATE("contract: a batch that nobody waits for is durable with the next", Place,
                   KEEPING_PLACES) {
  Place place;
  const auto journal = place.open();
  DurableBell bell(*journal);
  REQUIRE(journal->append_unhurried(journal->epoch(), "first"));
  CHECK(bell.wait_for(append(*journal, "second").end));
}

TEST_CASE_TEMPLATE("contract: a replay gives back every batch, in order", Place, KEEPING_PLACES) {
  Place place;
  append_all(*place.open(), many_batches());
  Batches replayed;
  place.open(&replayed);
  CHECK(replayed == many_batches());
}

TEST_CASE_TEMPLATE("contract: a replay names the positions that append named", Place,
                   KEEPING_PLACES) {
  Place place;
  const auto spans = append_all(*place.open(), many_batches());
  const auto journal = place.open();
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const Outcome<std::string> bytes = journal->read(spans[i].begin, spans[i].end - spans[i].begin);
    REQUIRE(bytes);
    REQUIRE(*bytes == many_batches()[i]);
  }
}

TEST_CASE_TEMPLATE("contract: all of the old log is durable after a replay", Place,
                   KEEPING_PLACES) {
  Place place;
  const auto spans = append_all(*place.open(), many_batches());
  const auto journal = place.open();
  CHECK(journal->durable() >= spans.back().end);
}

TEST_CASE_TEMPLATE("contract: a reopened journal continues at the old end", Place, KEEPING_PLACES) {
  Place place;
  const auto spans = append_all(*place.open(), {"one", "two"});
  CHECK(append(*place.open(), "three").begin >= spans.back().end);
  Batches replayed;
  place.open(&replayed);
  CHECK(replayed == Batches{"one", "two", "three"});
}

TEST_CASE_TEMPLATE("contract: a part of a batch can be read at once and later", Place,
                   KEEPING_PLACES) {
  Place place;
  const auto journal = place.open();
  const Journal::Span span = append(*journal, "one batch of bytes");
  CHECK(*journal->read(span.begin + 4, 5) == "batch");
  journal->sync();
  CHECK(*journal->read(span.begin + 4, 5) == "batch");
}

TEST_CASE_TEMPLATE("contract: what the log does not hold cannot be read", Place, KEEPING_PLACES) {
  Place place;
  const auto journal = place.open();
  const Journal::Span span = append(*journal, "batch");
  journal->sync();
  CHECK_FALSE(journal->read(span.begin, 100));
  CHECK_FALSE(journal->read(span.end + 1000, 1));
}

TEST_CASE_TEMPLATE("contract: what was not trimmed is kept", Place, KEEPING_PLACES) {
  Place place;
  const Batches batches = many_batches();
  std::vector<Journal::Span> spans;
  {
    const auto journal = place.open();
    spans = append_all(*journal, batches);
    journal->sync();
    journal->trim(spans[60].begin);
    CHECK(*journal->read(spans[60].begin, batches[60].size()) == batches[60]);
  }
  Batches replayed;
  place.open(&replayed);
  CHECK(replayed.size() >= 40);
  CHECK(replayed.size() < 100);
  CHECK(std::equal(replayed.rbegin(), replayed.rend(), batches.rbegin()));
}

TEST_CASE_TEMPLATE("contract: a trimmed journal takes further batches", Place, KEEPING_PLACES) {
  Place place;
  {
    const auto journal = place.open();
    const auto spans = append_all(*journal, many_batches());
    journal->sync();
    journal->trim(spans.back().end);
  }
  Batches before;
  append(*place.open(&before), "another");
  before.emplace_back("another");
  Batches replayed;
  place.open(&replayed);
  CHECK(replayed == before);
}

TEST_CASE("contract: a visitor's problem stops the replay") {
  PosixFileSystem files;
  const TemporaryDirectory directory;
  append_synced(*start(files, directory.path()), {"one", "two"});
  auto journal = FileJournal::open(files, directory.path(), small_segments());
  REQUIRE(journal);
  std::size_t visited = 0;
  const Outcome<Done> done = (*journal)->replay([&](std::string_view, Lsn) {
    ++visited;
    return Outcome<Done>(Problem{"no such record"});
  });
  REQUIRE_FALSE(done);
  CHECK(done.error().text.find(" is damaged at offset 40: ") != std::string::npos);
  CHECK(done.error().text.find("no such record; nothing was changed") != std::string::npos);
  CHECK(visited == 1);
}

}  // namespace millrace::journal
