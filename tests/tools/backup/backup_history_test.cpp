/// Backups of a journal that grows and is compacted, in random order, and restores until random
/// times. The model knows which jobs were there at each time.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/state/ledger.hpp"
#include "simulation/random.hpp"
#include "tools/backup/backup_fixture.hpp"

namespace millrace::tools {
namespace {

using simulation::Random;
using Ids = std::set<JobId>;

/// Of the jobs in a data directory.
Ids ids_in(const std::string& directory) {
  journal::PosixFileSystem files;
  auto journal = journal::FileJournal::open(files, directory, {.segment_bytes = 4096});
  REQUIRE_MESSAGE(journal, journal.error().text);
  Ledger ledger;
  const auto take = [&](std::string_view batch, Lsn begin) { return ledger.replay(batch, begin); };
  const auto replayed = (*journal)->replay(take);
  REQUIRE_MESSAGE(replayed, replayed.error().text);
  Ids ids;
  const Jobs& jobs = ledger.store().jobs();
  for (JobSlot slot = 0; slot < jobs.slot_end(); ++slot) {
    if (const Job* const job = jobs.in_slot(slot)) ids.insert(job->id);
  }
  return ids;
}

class History {
 public:
  explicit History(std::uint64_t seed) : random_(seed), directories_({scratch_.path("copy0")}) {
    // A backup counts as made when its last batch was, where that is later than now.
    log_.now += std::chrono::hours(24 * 365 * 100);
    remember();
  }

  int refused = 0;  ///< copies that were set aside and brought back

  void run() {
    change();
    back_up();
    for (int step = 0; step < 40; ++step) {
      switch (random_.below(10)) {
        case 0:
          compact();
          break;
        case 1:
        case 2:
          back_up();
          break;
        case 3:
          restore();
          break;
        case 4:
          set_aside();
          break;
        case 5:
          bring_back();
          break;
        default:
          change();
      }
    }
    back_up();
    for (int i = 0; i < 5; ++i) restore();
  }

 private:
  /// Times in which nothing can be restored: compaction was faster than the backups.
  struct Gap {
    Time after{};
    Time until{};
  };

  void remember() { states_[log_.now] = live_; }

  void write(std::string batch) {
    // Several batches may have the same time.
    if (!random_.one_in(4)) log_.now += std::chrono::milliseconds(random_.between(1, 5000));
    log_.write(std::move(batch));
    written_at_ = log_.now;
    ++written_;
    remember();
  }

  void change() {
    for (std::uint64_t i = random_.between(1, 60); i > 0; --i) {
      if (!live_.empty() && random_.one_in(3)) {
        auto removed = live_.begin();
        std::advance(removed, random_.below(live_.size()));
        std::string batch;
        encode(JobRemoved{.id = *removed}, batch);
        live_.erase(removed);
        write(std::move(batch));
      } else {
        put();
      }
    }
  }

  void put() {
    live_.insert(++last_id_);
    write(put_batch(last_id_, "mail"));
  }

  std::size_t segment_count() {
    log_.sync();
    return segments(data_).size();
  }

  /// All jobs are written once more, in new segments. So no older one is needed.
  void compact() {
    const std::size_t old = segment_count();
    while (segment_count() <= old) {
      for (int i = 0; i < 10; ++i) put();
    }
    for (const JobId id : live_) write(put_batch(id, "mail"));
    log_.sync();
    log_.trim(static_cast<int>(random_.between(1, old)));
  }

  /// Into the directory of the last one, or into a new one that has only what is newer.
  void back_up() {
    log_.sync();
    BackupChoice choice{.directory = data_, .to = directories_.back()};
    if (last_.has_value()) {
      choice.since = directories_.back();
      // What has only the newer part does not grow.
      if (directories_.size() > 1 || random_.one_in(5)) {
        directories_.push_back(scratch_.path("copy" + std::to_string(directories_.size())));
        choice.to = directories_.back();
      }
    }
    const auto done = back_up_journal(choice);
    REQUIRE_MESSAGE(done, done.error().text);
    const bool has_gap = done->text.find("warning: compaction has removed") != std::string::npos;
    if (has_gap) gaps_.push_back({.after = *last_, .until = written_at_});
    if (!first_) first_ = written_at_;
    last_ = written_at_;
    in_backup_ = written_;
    // What comes now would be of the same time, and in no backup.
    log_.now += 1ms;
  }

  /// A copy of the journal that is kept.
  void set_aside() {
    log_.sync();
    log_.close();
    std::filesystem::remove_all(aside_);
    std::filesystem::copy(data_, aside_);
    log_.open();
    in_aside_ = written_;
  }

  /// A server goes on with the copy. It lacks what the last backup has, so it is not of the same
  /// journal any more, whether it has segments in common with the backup or not.
  void bring_back() {
    if (!in_aside_ || in_backup_ <= *in_aside_) return;
    const std::string back = scratch_.path("back");
    std::filesystem::remove_all(back);
    std::filesystem::copy(aside_, back);
    {
      GrowingLog log(back);
      log.now = log_.now;
      log.put(static_cast<int>(random_.between(1, 300)));
      log.trim(static_cast<int>(random_.below(segments(back).size())));
    }
    const auto done = back_up_journal(
        {.directory = back, .to = scratch_.path("wrong"), .since = directories_.back()});
    REQUIRE_FALSE(done);
    CHECK(done.error().text.find(" does not go on where ") != std::string::npos);
    ++refused;
  }

  void restore() {
    const auto span = static_cast<std::uint64_t>((*last_ - *first_).count());
    Time until = *first_ + Duration(random_.below(span + 1));
    // Or that of a batch, which is then the last one.
    if (random_.one_in(2)) until = std::prev(states_.upper_bound(until))->first;
    if (random_.one_in(8)) until = *last_;
    const std::string to = scratch_.path("new" + std::to_string(++restored_));
    const auto done = restore_journal({.from = directories_, .to = to, .until = until});
    const bool is_in_gap = std::ranges::any_of(
        gaps_, [&](const Gap& gap) { return until > gap.after && until < gap.until; });
    if (!done && is_in_gap) return;
    REQUIRE_MESSAGE(done, done.error().text);
    CHECK(ids_in(to) == std::prev(states_.upper_bound(until))->second);
  }

  Random random_;
  Scratch scratch_;
  const std::string aside_ = scratch_.path("aside");
  const std::string data_ = scratch_.path("data");
  GrowingLog log_{data_};
  std::vector<std::string> directories_;  ///< the last backup needs all of them
  std::map<Time, Ids> states_;            ///< after the last batch of that time
  Ids live_;
  JobId last_id_ = 0;
  Time written_at_{};  ///< the last batch
  int written_ = 0;    ///< batches
  int in_backup_ = 0;  ///< of these, in the last backup
  std::optional<int> in_aside_;
  std::vector<Gap> gaps_;
  std::optional<Time> first_;  ///< of a backup
  std::optional<Time> last_;
  int restored_ = 0;
};

}  // namespace

TEST_CASE("backup: whatever the history, a restore has the jobs of its time") {
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    History history(seed);
    history.run();
    refused += history.refused;
  }
  CHECK(refused > 10);
}

}  // namespace millrace::tools
