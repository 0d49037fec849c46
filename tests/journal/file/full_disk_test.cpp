/// A disk that has no room, and has it again.

#include <chrono>
#include <deque>
#include <random>
#include <thread>

#include "journal/file/log_files.hpp"
#include "journal/file/log_format.hpp"
#include "journal/file/removal.hpp"
#include "journal/file/reserve.hpp"
#include "journal/file/simulated_disk.hpp"
#include "journal/fixture.hpp"
#include "journal/writer/space_watch.hpp"

namespace millrace::journal {
namespace {

constexpr std::uint64_t kSegmentBytes = 4096;

std::uint64_t reserved_bytes(SimulatedDisk& disk) {
  std::uint64_t bytes = 0;
  for (const auto& [path, contents] : disk.files()) {
    if (path.find(kReservedPrefix) != std::string::npos) bytes += contents.size();
  }
  return bytes;
}

FileJournalOptions with_reserve() {
  FileJournalOptions options = small_segments(kSegmentBytes);
  options.reserved_segments = 1;
  return options;
}

void fill_up(Journal& journal) {
  while (!is_full(journal)) {
    append(journal, std::string(1000, 'x'));
    journal.sync();
  }
}

/// Until it holds; what does not within 10 seconds fails the test.
template <typename Condition>
void wait_until(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    REQUIRE(std::chrono::steady_clock::now() < end);
    std::this_thread::yield();
  }
}

/// A log of batches of many lengths, each needed until it ends, on a disk whose room others take.
class BesiegedLog {
 public:
  static constexpr std::uint64_t kLongSegmentBytes = 16384;

  explicit BesiegedLog(std::uint64_t batch_bytes_max) : batch_bytes_max_(batch_bytes_max) {
    options_.reserved_segments = 3;
    options_.is_stepped = true;
    journal_ = start(disk_, kDirectory, options_);
  }

  void fill_up() {
    while (journal_->segment_count() < 40) append(draw());
    disk_.let_others_take_room();
    while (!journal_->is_full()) append(draw());
  }

  /// As it would be when it had been copied.
  void cut_segments() {
    const std::vector<Lsn> begins = segments_of(disk_, kDirectory);
    for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
      const std::string path = kDirectory + "/" + segment_name(begins[i]);
      disk_.set_contents(path, disk_.contents(path).substr(0, begins[i + 1] - begins[i]));
    }
    disk_.let_others_take_room();
  }

  void restart() {
    journal_.reset();
    journal_ = start(disk_, kDirectory, options_);
  }

  /// Half a segment of what is needed ends, here and there.
  void end_batches() {
    for (std::uint64_t ended = 0; ended < kLongSegmentBytes / 2;) {
      const auto each = batches_.begin() + static_cast<long>(random_() % batches_.size());
      ended += each->end - each->begin;
      batches_.erase(each);
      append(20);
      batches_.pop_back();
    }
  }

  /// What is needed is written once more, piece by piece, and so each piece can go.
  void go_round() {
    const Lsn end = journal_->extent().end;
    while (journal_->extent().oldest_end <= end) {
      const Lsn oldest_end = journal_->extent().oldest_end;
      while (batches_.front().begin < oldest_end) {
        append(batches_.front().end - batches_.front().begin);
        batches_.pop_front();
      }
      journal_->trim(oldest_end);
      write();
    }
  }

  void end_and_go_round(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      end_batches();
      go_round();
    }
  }

  [[nodiscard]] std::uint64_t bytes_on_disk() {
    std::uint64_t bytes = 0;
    for (const auto& [path, contents] : disk_.files()) bytes += contents.size();
    return bytes;
  }

  [[nodiscard]] bool has_written_all() const {
    return journal_->is_full() && journal_->durable() == journal_->extent().end;
  }

 private:
  std::uint64_t draw() { return random_() % batch_bytes_max_ + 1; }

  void append(std::uint64_t bytes) {
    batches_.push_back(journal::append(*journal_, std::string(bytes, 'x')));
    write();
  }

  void write() {
    journal_->step();
    REQUIRE(journal_->durable() == journal_->extent().end);
  }

  const std::uint64_t batch_bytes_max_;
  std::string failure_;
  FileJournalOptions options_ = surviving(small_segments(kLongSegmentBytes), failure_);
  std::mt19937_64 random_;
  SimulatedDisk disk_;
  std::unique_ptr<FileJournal> journal_;
  std::deque<Journal::Span> batches_;
};

}  // namespace

TEST_CASE("full disk: the space kept back takes what comes, and it is said") {
  SimulatedDisk disk;
  disk.set_capacity(3 * kSegmentBytes + kExtentBytes + kStartBytes);
  Batches replayed;
  Batches appended;
  {
    const auto journal = start(disk, kDirectory, with_reserve());
    CHECK(reserved_bytes(disk) == kSegmentBytes);
    CHECK_FALSE(journal->is_full());
    while (reserved_bytes(disk) == kSegmentBytes) {
      appended.emplace_back(1000, 'x');
      append(*journal, appended.back());
      journal->sync();
    }
    CHECK(journal->is_full());
    appended.emplace_back("the end of a job");
    append(*journal, appended.back());
    journal->sync();
    CHECK(journal->is_full());
  }
  start(disk, kDirectory, with_reserve(), &replayed);
  CHECK(replayed == appended);
}

TEST_CASE("full disk: when there is room again it is found, and kept back anew") {
  SimulatedDisk disk;
  disk.set_capacity(3 * kSegmentBytes + kExtentBytes + kStartBytes);
  const auto journal = start(disk, kDirectory, with_reserve());
  fill_up(*journal);
  SUBCASE("since the disk has grown") {
    disk.set_capacity(9 * kSegmentBytes);
  }
  SUBCASE("since the log was trimmed") {
    journal->trim(journal->extent().end);
  }
  wait_until([&] { return !journal->is_full(); });
  CHECK(reserved_bytes(disk) == kSegmentBytes);
}

TEST_CASE("full disk: others that fill the disk do not get the reserve") {
  SimulatedDisk disk;
  disk.set_capacity(3 * kSegmentBytes + kExtentBytes + kStartBytes);
  const auto journal = start(disk, kDirectory, with_reserve());
  fill_up(*journal);
  for (int i = 0; i < 10; ++i) {
    disk.leave_room(0);
    append(*journal, "the end of a job");
    journal->sync();
    CHECK(journal->durable() == journal->extent().end);
  }
}

TEST_CASE("full disk: others get no room of a log that reuses its segments") {
  SimulatedDisk disk;
  disk.set_capacity(5 * kSegmentBytes + kExtentBytes + kStartBytes);
  FileJournalOptions options = with_reserve();
  options.reserved_segments = 2;
  options.is_stepped = true;
  const auto journal = start(disk, kDirectory, options);
  while (!journal->is_full()) {
    append(*journal, std::string(1000, 'x'));
    journal->step();
  }
  for (int i = 0; i < 100; ++i) {
    disk.leave_room(0);
    append(*journal, std::string(1000, 'y'));
    journal->step();
    REQUIRE(journal->durable() == journal->extent().end);
    // All that is before the newest segment is obsolete by now.
    journal->trim(journal->extent().newest_begin);
  }
}

TEST_CASE("full disk: a long log reuses its segments though others fill the disk") {
  std::uint64_t batch_bytes_max = 0;
  SUBCASE("with short batches") {
    batch_bytes_max = BesiegedLog::kLongSegmentBytes / 100;
  }
  SUBCASE("with batches that leave much of a segment unused") {
    batch_bytes_max = BesiegedLog::kLongSegmentBytes / 4;
  }
  SUBCASE("with batches of up to half a segment") {
    batch_bytes_max = BesiegedLog::kLongSegmentBytes / 2;
  }
  SUBCASE("with batches of up to a whole segment") {
    batch_bytes_max = BesiegedLog::kLongSegmentBytes - 2 * kSegmentHeaderBytes;
  }
  BesiegedLog log(batch_bytes_max);
  log.fill_up();
  log.end_and_go_round(3);
  CHECK(log.has_written_all());
}

TEST_CASE("full disk: no more is placed in a short segment than it has room for") {
  BesiegedLog log(BesiegedLog::kLongSegmentBytes / 32);
  log.fill_up();
  log.cut_segments();
  log.end_and_go_round(3);
  CHECK(log.has_written_all());
}

TEST_CASE("full disk: a restart gives no room away") {
  BesiegedLog log(BesiegedLog::kLongSegmentBytes / 2);
  log.fill_up();
  const std::uint64_t bytes = log.bytes_on_disk();
  log.restart();
  CHECK(log.bytes_on_disk() == bytes);
  log.end_and_go_round(3);
  CHECK(log.has_written_all());
}

TEST_CASE("full disk: what finds no room at all waits for it, and nothing is lost") {
  SimulatedDisk disk;
  Batches appended;
  {
    const auto journal = start(disk, kDirectory, with_reserve());
    disk.set_capacity(0);
    for (int i = 0; i < 40; ++i) {
      appended.push_back(std::to_string(i) + std::string(1000, 'x'));
      append(*journal, appended.back());
    }
    wait_until([&] { return journal->is_full() && reserved_bytes(disk) == 0; });
    const Lsn stuck = journal->durable();
    CHECK(stuck < journal->extent().end);
    disk.set_capacity(UINT64_MAX);
    journal->sync();
    CHECK(journal->durable() == journal->extent().end);
    wait_until([&] { return !journal->is_full(); });
  }
  CHECK(replayed_by(disk, kDirectory) == appended);
}

TEST_CASE("full disk: an extent that finds no room is left out") {
  SimulatedDisk disk;
  disk.set_capacity(kSegmentBytes);
  {
    const auto journal = start(disk, kDirectory, small_segments(kSegmentBytes));
    append_synced(*journal, {"one"});
    CHECK_FALSE(disk.files().contains(kDirectory + "/" + kExtentName));
  }
  CHECK(replayed_by(disk, kDirectory) == Batches{"one"});
}

TEST_CASE("full disk: what was removed counts as free, though its room is freed bit by bit") {
  SimulatedDisk disk;
  FileJournalOptions options = small_segments(4 * kFreedBytesMin);
  options.reserved_segments = 1;
  options.is_stepped = true;
  const auto journal = start(disk, kDirectory, options);
  const std::string batch(kFreedBytesMin, 'x');
  while (journal->segment_count() < 4) append(*journal, batch);
  journal->sync();
  disk.leave_room(0);
  journal->trim(journal->extent().newest_begin);
  for (int i = 0; i < 5; ++i) append(*journal, batch);
  REQUIRE(journal->segment_count() == 2);
  journal->sync();
  CHECK_FALSE(journal->is_full());
}

TEST_CASE("full disk: a journal starts on one, and says so") {
  SimulatedDisk disk;
  append_synced(*start(disk, kDirectory, with_reserve()), {"a", "b"});
  disk.set_capacity(0);
  Batches replayed;
  const auto journal = start(disk, kDirectory, with_reserve(), &replayed);
  CHECK(replayed == Batches{"a", "b"});
  CHECK(journal->is_full());
}

TEST_CASE("full disk: a process without descriptors has no room, until it has some again") {
  SimulatedDisk disk;
  FileJournalOptions options = with_reserve();
  options.is_stepped = true;
  Batches appended;
  {
    const auto journal = start(disk, kDirectory, options);
    disk.limit_open_files(0);
    for (int i = 0; i < 12; ++i) appended.push_back(std::to_string(i) + std::string(1000, 'x'));
    const auto spans = append_synced(*journal, appended);
    CHECK(journal->is_full());
    CHECK(journal->problem() == "too many open files: simulated");
    // The reserve became a segment, and then there was nothing left.
    CHECK(journal->durable() > spans[4].end);
    CHECK(journal->durable() < spans[11].end);
    disk.limit_open_files(UINT64_MAX);
    journal->sync();
    CHECK(journal->durable() >= spans[11].end);
    CHECK_FALSE(journal->is_full());
  }
  CHECK(replayed_by(disk, kDirectory) == appended);
}

TEST_CASE("full disk: stopping while nothing can be written does not hang") {
  SimulatedDisk disk;
  std::string failure;
  {
    const auto journal = start(disk, kDirectory, surviving(with_reserve(), failure));
    disk.set_capacity(0);
    for (int i = 0; i < 10; ++i) append(*journal, std::string(1000, 'x'));
    wait_until([&] { return reserved_bytes(disk) == 0; });
  }
  CHECK(failure.starts_with("the disk is full, and what nobody was told to be safe could not be"));
  CHECK(failure.find("no space left") != std::string::npos);
}

TEST_CASE("full disk: the files end as they would have without it") {
  SimulatedDisk full;
  SimulatedDisk roomy;
  Batches appended;
  for (int i = 0; i < 30; ++i) appended.push_back(std::to_string(i) + std::string(500, 'y'));
  {
    const auto journal = start(full, kDirectory, with_reserve());
    full.set_capacity(2 * kSegmentBytes);
    for (const std::string& batch : appended) append(*journal, batch);
    wait_until([&] { return journal->is_full(); });
    full.set_capacity(UINT64_MAX);
    journal->sync();
  }
  for (const std::string& batch : appended) {
    append_synced(*start(roomy, kDirectory, with_reserve()), {batch});
  }
  CHECK(replayed_by(full, kDirectory) == replayed_by(roomy, kDirectory));
}

}  // namespace millrace::journal
