/// A disk that has no room, and has it again.

#include <chrono>
#include <thread>

#include "journal/fixture.hpp"
#include "journal/log_files.hpp"
#include "journal/simulated_disk.hpp"
#include "journal/spare.hpp"

namespace millrace::journal {
namespace {

constexpr std::uint64_t kSegmentBytes = 4096;

std::uint64_t spare_bytes(SimulatedDisk& disk) {
  std::uint64_t bytes = 0;
  for (const auto& [path, contents] : disk.files()) {
    if (path.find(kSparePrefix) != std::string::npos) bytes += contents.size();
  }
  return bytes;
}

FileJournalOptions with_spare() {
  FileJournalOptions options = small_segments(kSegmentBytes);
  options.spare_segments = 1;
  return options;
}

void fill_up(Journal& journal) {
  while (!journal.is_full()) {
    journal.append(std::string(1000, 'x'));
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

}  // namespace

TEST_CASE("full disk: the space kept back takes what comes, and it is said") {
  SimulatedDisk disk;
  disk.set_capacity(3 * kSegmentBytes + kExtentBytes);
  Batches replayed;
  Batches appended;
  {
    const auto journal = start(disk, kDirectory, with_spare());
    CHECK(spare_bytes(disk) == kSegmentBytes);
    CHECK_FALSE(journal->is_full());
    while (spare_bytes(disk) == kSegmentBytes) {
      appended.emplace_back(1000, 'x');
      journal->append(appended.back());
      journal->sync();
    }
    CHECK(journal->is_full());
    appended.emplace_back("the end of a job");
    journal->append(appended.back());
    journal->sync();
    CHECK(journal->is_full());
  }
  start(disk, kDirectory, with_spare(), &replayed);
  CHECK(replayed == appended);
}

TEST_CASE("full disk: when there is room again it is found, and kept back anew") {
  SimulatedDisk disk;
  disk.set_capacity(3 * kSegmentBytes + kExtentBytes);
  const auto journal = start(disk, kDirectory, with_spare());
  fill_up(*journal);
  SUBCASE("since the disk has grown") {
    disk.set_capacity(9 * kSegmentBytes);
  }
  SUBCASE("since the log was trimmed") {
    journal->trim(journal->extent().end);
  }
  wait_until([&] { return !journal->is_full(); });
  CHECK(spare_bytes(disk) == kSegmentBytes);
}

TEST_CASE("full disk: who takes all room that is free does not take what is kept back") {
  SimulatedDisk disk;
  disk.set_capacity(3 * kSegmentBytes + kExtentBytes);
  const auto journal = start(disk, kDirectory, with_spare());
  fill_up(*journal);
  for (int i = 0; i < 10; ++i) {
    disk.leave_room(0);
    journal->append("the end of a job");
    journal->sync();
    CHECK(journal->durable() == journal->extent().end);
  }
}

TEST_CASE("full disk: who takes whatever is free gets nothing of a log that goes round") {
  SimulatedDisk disk;
  disk.set_capacity(5 * kSegmentBytes + kExtentBytes);
  FileJournalOptions options = with_spare();
  options.spare_segments = 2;
  options.is_stepped = true;
  const auto journal = start(disk, kDirectory, options);
  while (!journal->is_full()) {
    journal->append(std::string(1000, 'x'));
    journal->step();
  }
  for (int i = 0; i < 100; ++i) {
    disk.leave_room(0);
    journal->append(std::string(1000, 'y'));
    journal->step();
    REQUIRE(journal->durable() == journal->extent().end);
    // All that stands before the newest segment is obsolete by now.
    journal->trim(journal->extent().newest_begin);
  }
}

TEST_CASE("full disk: what finds no room at all waits for it, and nothing is lost") {
  SimulatedDisk disk;
  Batches appended;
  {
    const auto journal = start(disk, kDirectory, with_spare());
    disk.set_capacity(0);
    for (int i = 0; i < 40; ++i) {
      appended.push_back(std::to_string(i) + std::string(1000, 'x'));
      journal->append(appended.back());
    }
    wait_until([&] { return journal->is_full() && spare_bytes(disk) == 0; });
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

TEST_CASE("full disk: a journal starts on one, and says so") {
  SimulatedDisk disk;
  append_synced(*start(disk, kDirectory, with_spare()), {"a", "b"});
  disk.set_capacity(0);
  Batches replayed;
  const auto journal = start(disk, kDirectory, with_spare(), &replayed);
  CHECK(replayed == Batches{"a", "b"});
  CHECK(journal->is_full());
}

TEST_CASE("full disk: who stops while nothing can be written does not wait for ever") {
  SimulatedDisk disk;
  std::string failure;
  {
    const auto journal = start(disk, kDirectory, surviving(with_spare(), failure));
    disk.set_capacity(0);
    for (int i = 0; i < 10; ++i) journal->append(std::string(1000, 'x'));
    wait_until([&] { return spare_bytes(disk) == 0; });
  }
  CHECK(failure.find("no space left") != std::string::npos);
}

TEST_CASE("full disk: the files end as they would have without it") {
  SimulatedDisk full;
  SimulatedDisk roomy;
  Batches appended;
  for (int i = 0; i < 30; ++i) appended.push_back(std::to_string(i) + std::string(500, 'y'));
  {
    const auto journal = start(full, kDirectory, with_spare());
    full.set_capacity(2 * kSegmentBytes);
    for (const std::string& batch : appended) journal->append(batch);
    wait_until([&] { return journal->is_full(); });
    full.set_capacity(UINT64_MAX);
    journal->sync();
  }
  for (const std::string& batch : appended) {
    append_synced(*start(roomy, kDirectory, with_spare()), {batch});
  }
  CHECK(replayed_by(full, kDirectory) == replayed_by(roomy, kDirectory));
}

}  // namespace millrace::journal
