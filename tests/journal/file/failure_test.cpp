/// Group commit, sync modes, and disks that fail or lose their power.

#include <random>
#include <thread>

#include "journal/file/log_format.hpp"
#include "journal/file/simulated_disk.hpp"
#include "journal/fixture.hpp"

namespace millrace::journal {
namespace {

FileJournalOptions with_mode(SyncMode mode) {
  FileJournalOptions options = small_segments(4096);
  options.sync_mode = mode;
  options.sync_interval = std::chrono::milliseconds(1);
  return options;
}

/// A batch that can be told from all others.
std::string batch_of(std::size_t number, std::size_t size) {
  std::string batch = std::to_string(number) + ":";
  batch.resize(std::max(batch.size(), size), static_cast<char>('a' + number % 26));
  return batch;
}

/// Appends 40 batches, one or two between two syncs, while the power fails at the given change.
/// Answers them all; `durable_count` of them were durable.
Batches live_until_power_cut(SimulatedDisk& disk, SyncMode mode, std::uint64_t change,
                             std::size_t& durable_count) {
  std::string failure;
  FileJournalOptions options = surviving(small_segments(), failure);
  options.sync_mode = mode;
  const auto journal = start(disk, kDirectory, options);
  disk.cut_power_at(change);
  Batches batches;
  std::vector<Journal::Span> spans;
  std::size_t synced_count = 0;
  for (std::size_t i = 0; i < 40; ++i) {
    batches.push_back(batch_of(i, 10 + i * 37 % 300));
    spans.push_back(append(*journal, batches.back()));
    if (i % 3 == 0) continue;
    journal->sync();
    if (disk.is_powered()) synced_count = spans.size();
  }
  durable_count = synced_count;
  if (mode != SyncMode::kAlways) return batches;
  while (durable_count < spans.size() && journal->durable() >= spans[durable_count].end) {
    ++durable_count;
  }
  return batches;
}

/// True when the log that comes up holds what was durable, and of the rest a beginning; and goes
/// on.
bool comes_up_again(SimulatedDisk& disk, const Batches& batches, std::size_t durable_count) {
  Batches replayed;
  append(*start(disk, kDirectory, small_segments(), &replayed), "after");
  const bool is_beginning = replayed.size() <= batches.size() &&
                            std::equal(replayed.begin(), replayed.end(), batches.begin());
  const std::size_t count = replayed.size();
  replayed.emplace_back("after");
  return is_beginning && count >= durable_count && replayed_by(disk, kDirectory) == replayed;
}

}  // namespace

TEST_CASE("writer: what collects during a sync is written at once and synced once") {
  SimulatedDisk disk;
  const auto journal = start(disk, kDirectory, small_segments(65536));
  disk.hold_syncs();
  append(*journal, "first");
  disk.wait_for_held_sync();
  const std::uint64_t writes = disk.write_count();
  const std::uint64_t syncs = disk.sync_count();
  for (int i = 0; i < 100; ++i) append(*journal, "collected");
  disk.release_syncs();
  journal->sync();
  CHECK(disk.write_count() == writes + 1);
  CHECK(disk.sync_count() == syncs + 2);
}

TEST_CASE("writer: nothing is durable before its sync") {
  SimulatedDisk disk;
  const auto journal = start(disk, kDirectory);
  disk.hold_syncs();
  const Journal::Span span = append(*journal, "batch");
  disk.wait_for_held_sync();
  CHECK(journal->durable() < span.end);
  CHECK(journal->pending_bytes() == 5);
  disk.release_syncs();
  journal->sync();
  CHECK(journal->durable() >= span.end);
  CHECK(journal->pending_bytes() == 0);
}

TEST_CASE("writer: what is being written can be read") {
  SimulatedDisk disk;
  const auto journal = start(disk, kDirectory);
  disk.hold_syncs();
  const Journal::Span first = append(*journal, "first");
  disk.wait_for_held_sync();
  const Journal::Span second = append(*journal, "second");
  CHECK(*journal->read(first.begin, 5) == "first");
  CHECK(*journal->read(second.begin + 3, 3) == "ond");
  disk.release_syncs();
}

TEST_CASE("writer: without syncs a batch is durable once it is written") {
  SimulatedDisk disk;
  const auto journal = start(disk, kDirectory, with_mode(SyncMode::kOff));
  const std::uint64_t syncs = disk.sync_count();
  DurableBell bell(*journal);
  CHECK(bell.wait_for(append(*journal, "batch").end));
  CHECK(disk.sync_count() == syncs);
  journal->sync();
  CHECK(disk.sync_count() == syncs + 1);
}

TEST_CASE("writer: the interval syncs what nobody asked to have synced") {
  SimulatedDisk disk;
  const auto journal = start(disk, kDirectory, with_mode(SyncMode::kInterval));
  const std::uint64_t syncs = disk.sync_count();
  append(*journal, "batch");
  CHECK(disk.wait_for_syncs(syncs + 1));
}

TEST_CASE("writer: a batch longer than a segment gets one of its own") {
  SimulatedDisk disk;
  const Batches batches{"before", std::string(3000, 'x'), "after"};
  append_synced(*start(disk, kDirectory), batches);
  CHECK(replayed_by(disk, kDirectory) == batches);
  CHECK(disk.contents(kDirectory + "/" + segment_name(72)).size() ==
        kSegmentHeaderBytes + frame_bytes(3000));
}

TEST_CASE("writer: a segment takes batches up to its last byte") {
  SimulatedDisk disk;
  const std::size_t room = 512 - kSegmentHeaderBytes - frame_bytes(8);
  append_synced(*start(disk, kDirectory), {"12345678", std::string(room - kFrameHeaderBytes, 'x')});
  CHECK(segments_of(disk, kDirectory).size() == 1);
  append_synced(*start(disk, kDirectory), {"x"});
  CHECK(segments_of(disk, kDirectory).size() == 2);
}

TEST_CASE("writer: trim removes the segments below and no other") {
  SimulatedDisk disk;
  auto journal = start(disk, kDirectory);
  const auto spans = append_synced(*journal, Batches(6, std::string(200, 'x')));
  REQUIRE(segments_of(disk, kDirectory).size() == 3);
  journal->trim(spans[2].begin - 100);
  journal.reset();
  CHECK(segments_of(disk, kDirectory).size() == 3);
  journal = start(disk, kDirectory);
  journal->trim(spans[3].begin);
  CHECK_FALSE(journal->read(spans[0].begin, 200));
  journal.reset();
  CHECK(segments_of(disk, kDirectory).size() == 2);
}

TEST_CASE("writer: trim leaves the last segment, whatever it is told") {
  SimulatedDisk disk;
  auto journal = start(disk, kDirectory);
  append_synced(*journal, {"one"});
  journal->trim(~Lsn{0});
  journal.reset();
  CHECK(replayed_by(disk, kDirectory) == Batches{"one"});
}

TEST_CASE("writer: trim removes nothing before all that was written is synced") {
  SimulatedDisk disk;
  auto journal = start(disk, kDirectory, with_mode(SyncMode::kOff));
  const auto spans = append_synced(*journal, Batches(6, std::string(1900, 'x')));
  REQUIRE(segments_of(disk, kDirectory).size() == 3);
  disk.hold_syncs();
  const Lsn moved = append(*journal, "moved forward").end;
  while (journal->durable() < moved) std::this_thread::yield();
  journal->trim(spans[5].begin);
  disk.wait_for_held_sync();
  CHECK(segments_of(disk, kDirectory).size() == 3);
  disk.release_syncs();
  journal.reset();
  CHECK(segments_of(disk, kDirectory).size() == 1);
}

TEST_CASE("writer: closing gives back the preallocated space") {
  SimulatedDisk disk;
  append_synced(*start(disk, kDirectory), {"one"});
  CHECK(disk.contents(kDirectory + "/" + segment_name(0)).size() ==
        kSegmentHeaderBytes + frame_bytes(3));
}

TEST_CASE("failure: after a failed write or sync nothing more becomes durable") {
  SimulatedDisk disk;
  std::string failure;
  const auto journal = start(disk, kDirectory, surviving(small_segments(), failure));
  append_synced(*journal, {"one"});
  const Lsn durable = journal->durable();
  std::string expected;
  SUBCASE("write") {
    disk.fail_writes(true);
    expected = "cannot write: simulated";
  }
  SUBCASE("sync") {
    disk.fail_syncs(true);
    expected = "cannot sync: simulated";
  }
  append_synced(*journal, {"two"});
  disk.fail_writes(false);
  disk.fail_syncs(false);
  append_synced(*journal, {"three"});
  CHECK(journal->durable() == durable);
}

TEST_CASE("failure: the failure is told once, on the way out") {
  SimulatedDisk disk;
  std::string failure;
  {
    const auto journal = start(disk, kDirectory, surviving(small_segments(), failure));
    disk.fail_syncs(true);
    append_synced(*journal, {"one", "two"});
  }
  CHECK(failure == "cannot sync: simulated");
}

TEST_CASE("failure: once the directory was taken away nothing becomes durable") {
  SimulatedDisk disk;
  std::string failure;
  {
    FileJournalOptions options = surviving(small_segments(), failure);
    options.is_stepped = true;
    const auto journal = start(disk, kDirectory, options);
    append_synced(*journal, {"one"});
    const Lsn durable = journal->durable();
    disk.take_away(kDirectory);
    append_synced(*journal, {"two"});
    CHECK(journal->durable() == durable);
  }
  CHECK(failure == kDirectory + " was moved: simulated");
}

TEST_CASE("failure: what a failed sync left in memory is stored by the next start") {
  SimulatedDisk disk;
  std::string failure;
  {
    const auto journal = start(disk, kDirectory, surviving(small_segments(), failure));
    append_synced(*journal, {"one"});
    disk.fail_syncs(true);
    append_synced(*journal, {"two"});
    disk.fail_syncs(false);
  }
  {
    const auto journal = start(disk, kDirectory, surviving(small_segments(), failure));
    append_synced(*journal, {"three"});
    disk.cut_power_at(1);
  }
  std::mt19937_64 random(1);
  disk.restore_power(random);
  CHECK(replayed_by(disk, kDirectory) == Batches{"one", "two", "three"});
}

TEST_CASE("failure: what a start has replayed is safe before anything is appended") {
  SimulatedDisk disk;
  std::string failure;
  {
    const auto journal = start(disk, kDirectory, surviving(small_segments(), failure));
    disk.fail_syncs(true);
    append_synced(*journal, {"one"});
    disk.fail_syncs(false);
  }
  {
    const auto journal = start(disk, kDirectory, surviving(small_segments(), failure));
    disk.cut_power_at(1);
  }
  std::mt19937_64 random(1);
  disk.restore_power(random);
  CHECK(replayed_by(disk, kDirectory) == Batches{"one"});
}

TEST_CASE("failure: frames that were written but never synced are a torn tail") {
  SimulatedDisk disk;
  const auto journal = start(disk, kDirectory, with_mode(SyncMode::kOff));
  DurableBell bell(*journal);
  REQUIRE(bell.wait_for(append(*journal, "one").end));
  REQUIRE(bell.wait_for(append(*journal, "two").end));
  SimulatedDisk after;
  std::string bytes = disk.contents(kDirectory + "/" + segment_name(0));
  bytes[kSegmentHeaderBytes + kFrameHeaderBytes] ^= 1;
  after.set_contents(kDirectory + "/" + segment_name(0), bytes);
  CHECK(replayed_by(after, kDirectory).empty());
}

TEST_CASE("failure: a power cut during a trim leaves no gap") {
  const Batches batches(12, std::string(200, 'x'));
  for (std::uint64_t change = 1; change <= 12; ++change) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      CAPTURE(change);
      CAPTURE(seed);
      SimulatedDisk disk;
      std::string failure;
      auto journal = start(disk, kDirectory, surviving(small_segments(), failure));
      const auto spans = append_synced(*journal, batches);
      disk.cut_power_at(change);
      journal->trim(spans.back().begin);
      journal.reset();
      std::mt19937_64 random(seed);
      disk.restore_power(random);
      const std::size_t count = replayed_by(disk, kDirectory).size();
      REQUIRE(count >= 2);
      REQUIRE(count % 2 == 0);
    }
  }
}

TEST_CASE("failure: a power cut at any change keeps what was durable") {
  for (const SyncMode mode : {SyncMode::kAlways, SyncMode::kOff}) {
    for (std::uint64_t change = 1; change <= 160; ++change) {
      CAPTURE(change);
      SimulatedDisk disk;
      std::size_t durable_count = 0;
      const Batches batches = live_until_power_cut(disk, mode, change, durable_count);
      std::mt19937_64 random(change);
      disk.restore_power(random);
      REQUIRE(comes_up_again(disk, batches, durable_count));
    }
  }
}

TEST_CASE("failure: a power cut at any change of a recovery keeps what was durable") {
  for (std::uint64_t change = 1; change <= 8; ++change) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      CAPTURE(change);
      CAPTURE(seed);
      SimulatedDisk disk;
      std::size_t durable_count = 0;
      const Batches batches =
          live_until_power_cut(disk, SyncMode::kAlways, 20 + seed, durable_count);
      std::mt19937_64 random(seed);
      disk.restore_power(random);
      disk.cut_power_at(change);
      static_cast<void>(refusal(disk, kDirectory));
      disk.restore_power(random);
      REQUIRE(comes_up_again(disk, batches, durable_count));
    }
  }
}

}  // namespace millrace::journal
