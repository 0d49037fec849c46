#include "journal/file/log_starts.hpp"

#include <string>
#include <vector>

#include "journal/file/simulated_disk.hpp"
#include "journal/fixture.hpp"

namespace millrace::journal {
namespace {

const std::string kStartsPath = kDirectory + "/" + kStartsName;

std::string bytes_of(const std::vector<LogStart>& starts) {
  std::string bytes;
  for (const LogStart& start : starts) {
    const auto encoded = encode_start(start);
    bytes.append(encoded.data(), encoded.size());
  }
  return bytes;
}

void append(SimulatedDisk& disk, const std::string& bytes) {
  disk.set_contents(kStartsPath, disk.contents(kStartsPath) + bytes);
}

/// A process starts on the log, appends so many batches, and ends.
void run_process(SimulatedDisk& disk, std::uint64_t id, int batches) {
  FileJournalOptions options = small_segments();
  options.start_id = id;
  const auto journal = start(disk, kDirectory, options);
  for (int i = 0; i < batches; ++i) (void)journal->append(kOnlyEpoch, "a batch");
  journal->sync();
}

LogStarts starts_of(SimulatedDisk& disk) {
  const auto starts = starts_in(disk, kDirectory, disk.files().contains(kStartsPath));
  REQUIRE(starts);
  return *starts;
}

std::optional<std::uint64_t> last_writer(SimulatedDisk& disk) {
  return starts_of(disk).writer_until(UINT64_MAX);
}

/// As many starts as fit, one after the other.
std::string full_file() {
  std::vector<LogStart> starts;
  for (Lsn i = 0; i < kStartsMax; ++i) starts.push_back({.at = i, .id = i});
  return bytes_of(starts);
}

}  // namespace

TEST_CASE("log starts: each position has one writer") {
  const LogStarts starts =
      LogStarts::of(bytes_of({{.at = 0, .id = 1}, {.at = 100, .id = 2}, {.at = 200, .id = 3}}));
  CHECK(starts.writer_until(1) == 1);
  CHECK(starts.writer_until(100) == 1);
  CHECK(starts.writer_until(101) == 2);
  CHECK(starts.writer_until(200) == 2);
  CHECK(starts.writer_until(UINT64_MAX) == 3);
}

TEST_CASE("log starts: who wrote nothing that is left in the log is forgotten") {
  const LogStarts starts = LogStarts::of(bytes_of(
      {{.at = 0, .id = 1}, {.at = 100, .id = 2}, {.at = 200, .id = 3}, {.at = 100, .id = 4}}));
  CHECK(starts.writer_until(100) == 1);
  CHECK(starts.writer_until(101) == 4);
  CHECK(starts.writer_until(201) == 4);
}

TEST_CASE("log starts: the first one is known to a backup of before it wrote, and stays") {
  LogStarts starts = LogStarts::of(bytes_of({{.at = 100, .id = 1}}));
  CHECK(starts.writer_until(99) == std::nullopt);
  CHECK(starts.writer_until(100) == 1);
  starts.add({.at = 100, .id = 2});
  starts.add({.at = 100, .id = 3});
  CHECK(starts.bytes() == bytes_of({{.at = 100, .id = 1}, {.at = 100, .id = 3}}));
  CHECK(starts.writer_until(100) == 1);
  CHECK(starts.writer_until(101) == 3);
  starts.add({.at = 90, .id = 4});
  CHECK(starts.writer_until(100) == 4);
}

TEST_CASE("log starts: a wrong byte leaves none, and so does a cut") {
  const std::string whole = bytes_of({{.at = 0, .id = 1}, {.at = 100, .id = 2}});
  for (std::size_t size = kStartBytes + 1; size < whole.size(); ++size) {
    CHECK(LogStarts::of(whole.substr(0, size)).is_empty());
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] ^= 1;
    CHECK(LogStarts::of(damaged).is_empty());
  }
}

TEST_CASE("log starts: each process notes itself, and one that wrote nothing leaves no trace") {
  SimulatedDisk disk;
  run_process(disk, 1, 3);
  CHECK(last_writer(disk) == 1);
  for (std::uint64_t id = 2; id < 10; ++id) run_process(disk, id, 0);
  run_process(disk, 10, 2);
  CHECK(disk.contents(kStartsPath).size() == 2 * kStartBytes);
  CHECK(starts_of(disk).writer_until(kSegmentHeaderBytes) == 1);
  CHECK(last_writer(disk) == 10);
}

TEST_CASE("log starts: damage begins the file anew") {
  SimulatedDisk disk;
  run_process(disk, 1, 3);
  SUBCASE("torn") {
    append(disk, "half a start");
  }
  SUBCASE("damaged") {
    append(disk, std::string(2 * kStartBytes, 'x'));
  }
  SUBCASE("far too long") {
    append(disk, std::string(std::size_t{1} << 20, 'x'));
  }
  run_process(disk, 2, 1);
  CHECK(disk.contents(kStartsPath).size() == kStartBytes);
  CHECK(last_writer(disk) == 2);
}

TEST_CASE("log starts: of too many the oldest is forgotten") {
  SimulatedDisk disk;
  disk.set_contents(kStartsPath, full_file());
  REQUIRE(note_start(disk, kDirectory, true, {.at = kStartsMax, .id = 77}));
  CHECK(disk.contents(kStartsPath).size() == full_file().size());
  const LogStarts starts = starts_of(disk);
  CHECK(starts.writer_until(1) == 1);
  CHECK(starts.writer_until(2) == 1);
  CHECK(starts.writer_until(kStartsMax + 1) == 77);
}

TEST_CASE(
    "log starts: on a full disk the oldest is forgotten, too, and without a start no file stays") {
  SimulatedDisk disk;
  REQUIRE(note_start(disk, kDirectory, false, {.at = 0, .id = 1}));
  REQUIRE(note_start(disk, kDirectory, true, {.at = 100, .id = 2}));
  disk.leave_room(0);
  REQUIRE(note_start(disk, kDirectory, true, {.at = 200, .id = 3}));
  CHECK(disk.contents(kStartsPath) == bytes_of({{.at = 100, .id = 2}, {.at = 200, .id = 3}}));
  disk.erase(kStartsPath);
  disk.set_capacity(0);
  REQUIRE(note_start(disk, kDirectory, false, {.at = 300, .id = 4}));
  CHECK_FALSE(disk.files().contains(kStartsPath));
  disk.set_capacity(UINT64_MAX);
  disk.set_contents(kStartsPath, "damaged");
  disk.set_capacity(0);
  REQUIRE(note_start(disk, kDirectory, true, {.at = 300, .id = 4}));
  CHECK_FALSE(disk.files().contains(kStartsPath));
}

TEST_CASE("log starts: a power cut keeps all of before, or leaves none") {
  std::mt19937_64 random(1);
  int kept = 0;
  for (std::uint64_t cut = 1; cut <= 6; ++cut) {
    CAPTURE(cut);
    SimulatedDisk disk;
    REQUIRE(note_start(disk, kDirectory, false, {.at = 0, .id = 1}));
    disk.cut_power_at(cut);
    const bool is_noted = note_start(disk, kDirectory, true, {.at = 100, .id = 2}).has_value();
    if (disk.is_powered()) break;
    disk.restore_power(random);
    const auto writer = starts_of(disk).writer_until(50);
    CHECK((writer == 1 || !writer));
    kept += writer == 1 ? 1 : 0;
    CHECK_FALSE(is_noted);
  }
  CHECK(kept > 0);
}

}  // namespace millrace::journal
