/// Rounds by hand, while time stands still. The tests in tests/journal/file run the loop in a whole
/// journal, with a thread and without.

#include "journal/writer/writer_loop.hpp"

#include "journal/file/simulated_disk.hpp"
#include "journal/fixture.hpp"

namespace millrace::journal {
namespace {

FileJournalOptions stepped_with(SyncMode mode) {
  FileJournalOptions options = small_segments(4096);
  options.sync_mode = mode;
  options.is_stepped = true;
  return options;
}

/// The writer of an empty log, and what a caller has of it.
struct LoopOfEmptyLog {
  std::string failure;
  SimulatedDisk disk;
  FileJournalOptions options;
  WriteQueue queue;
  WriterStatus status;
  SegmentRooms rooms;
  std::unique_ptr<Lock> lock = std::move(*disk.lock(kDirectory));
  WriterLoop loop{disk,
                  kDirectory,
                  options,
                  {.queue = queue, .status = status, .rooms = rooms, .lock = *lock},
                  [] { return WriterLoop::Time{}; }};
  Lsn end = kSegmentHeaderBytes;

  explicit LoopOfEmptyLog(SyncMode mode) : options(surviving(stepped_with(mode), failure)) {
    const auto reader = LogReader::open(disk, kDirectory);
    REQUIRE(reader);
    REQUIRE(loop.begin(*reader, {}));
  }

  /// Answers where it ends.
  Lsn append(std::string batch) {
    PlacedBatch placed{.segment = 0, .begin = end + kFrameHeaderBytes, .payload = std::move(batch)};
    end = placed.frame_end();
    const Lsn batch_end = placed.end();
    queue.append(std::move(placed));
    return batch_end;
  }
};

}  // namespace

TEST_CASE("loop: it begins where the log ends") {
  const LoopOfEmptyLog log(SyncMode::kAlways);
  CHECK(log.loop.segment() == 0);
  CHECK(log.loop.synced() == kSegmentHeaderBytes);
  CHECK(log.status.durable() == kSegmentHeaderBytes);
  CHECK(log.queue.is_synced(kSegmentHeaderBytes));
}

TEST_CASE("loop: a round makes durable what is in the queue") {
  LoopOfEmptyLog log(SyncMode::kAlways);
  const Lsn end = log.append("batch");
  CHECK(log.loop.step(false));
  CHECK(log.status.durable() >= end);
  CHECK(log.loop.synced() >= end);
  CHECK(log.queue.pending_bytes() == 0);
  CHECK_FALSE(log.loop.step(false));
}

TEST_CASE("loop: with an interval, what is written is synced when that is over") {
  LoopOfEmptyLog log(SyncMode::kInterval);
  const Lsn end = log.append("batch");
  CHECK(log.loop.step(false));
  CHECK(log.status.durable() >= end);
  CHECK(log.loop.synced() < end);
  CHECK_FALSE(log.loop.step(false));
  CHECK(log.loop.step(true));
  CHECK(log.loop.synced() >= end);
  CHECK_FALSE(log.loop.step(true));
}

TEST_CASE("loop: a round without room is tried again as a whole") {
  LoopOfEmptyLog log(SyncMode::kAlways);
  log.disk.set_capacity(0);
  log.append(std::string(3000, 'x'));
  REQUIRE(log.loop.step(false));
  log.queue.append({.segment = log.end,
                    .begin = log.end + kSegmentHeaderBytes + kFrameHeaderBytes,
                    .payload = std::string(3000, 'y')});
  CHECK_FALSE(log.loop.step(false));
  CHECK(log.status.is_full());
  CHECK(log.failure.empty());
  log.disk.set_capacity(UINT64_MAX);
  CHECK(log.loop.step(false));
  CHECK(log.status.durable() > log.end);
}

TEST_CASE("loop: nothing is durable once the directory was taken away") {
  LoopOfEmptyLog log(SyncMode::kAlways);
  const Lsn durable = log.status.durable();
  log.disk.take_away(kDirectory);
  log.append("batch");
  CHECK_FALSE(log.loop.step(false));
  CHECK(log.status.durable() == durable);
  CHECK(log.failure == kDirectory + " was moved: simulated");
  CHECK(log.queue.has_failed());
}

TEST_CASE("loop: a directory that is taken away on a full disk is noticed too") {
  LoopOfEmptyLog log(SyncMode::kAlways);
  log.disk.set_capacity(0);
  log.append(std::string(5000, 'x'));
  CHECK_FALSE(log.loop.step(false));
  log.disk.set_capacity(UINT64_MAX);
  log.disk.take_away(kDirectory);
  CHECK_FALSE(log.loop.step(false));
  CHECK(log.queue.has_failed());
}

TEST_CASE("loop: after a failure there are no rounds") {
  LoopOfEmptyLog log(SyncMode::kAlways);
  log.disk.fail_syncs(true);
  log.append("batch");
  CHECK_FALSE(log.loop.step(false));
  CHECK(log.failure == "cannot sync: simulated");
  CHECK(log.queue.has_failed());
  CHECK_FALSE(log.loop.step(false));
}

}  // namespace millrace::journal
