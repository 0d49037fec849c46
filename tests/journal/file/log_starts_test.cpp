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

std::optional<std::uint64_t> last_writer(SimulatedDisk& disk) {
  const auto starts = starts_in(disk, kDirectory);
  REQUIRE(starts);
  return starts->writer_until(UINT64_MAX);
}

}  // namespace

TEST_CASE("log starts: each position has one writer") {
  const LogStarts starts =
      LogStarts::of(bytes_of({{.at = 0, .id = 1}, {.at = 100, .id = 2}, {.at = 200, .id = 3}}));
  CHECK(starts.writer_until(0) == std::nullopt);
  CHECK(starts.writer_until(1) == 1);
  CHECK(starts.writer_until(100) == 1);
  CHECK(starts.writer_until(101) == 2);
  CHECK(starts.writer_until(200) == 2);
  CHECK(starts.writer_until(UINT64_MAX) == 3);
}

TEST_CASE("log starts: what wrote before a log that was not empty is not known") {
  CHECK(LogStarts::of(bytes_of({{.at = 100, .id = 1}})).writer_until(100) == std::nullopt);
}

TEST_CASE("log starts: who wrote nothing that is left in the log is forgotten") {
  const LogStarts starts = LogStarts::of(bytes_of(
      {{.at = 0, .id = 1}, {.at = 100, .id = 2}, {.at = 200, .id = 3}, {.at = 100, .id = 4}}));
  CHECK(starts.writer_until(100) == 1);
  CHECK(starts.writer_until(101) == 4);
  CHECK(starts.writer_until(201) == 4);
}

TEST_CASE("log starts: a torn last one is left out, other damage leaves none") {
  const std::string whole = bytes_of({{.at = 0, .id = 1}, {.at = 100, .id = 2}});
  for (std::size_t size = kStartBytes; size < whole.size(); ++size) {
    CHECK(LogStarts::of(whole.substr(0, size)).writer_until(200) == 1);
    CHECK(LogStarts::of(whole.substr(0, size)).bytes() == kStartBytes);
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] ^= 1;
    const auto expected = at < kStartBytes ? std::nullopt : std::optional<std::uint64_t>(1);
    CHECK(LogStarts::of(damaged).writer_until(200) == expected);
  }
}

TEST_CASE("log starts: each process notes itself, and one that wrote nothing leaves no trace") {
  SimulatedDisk disk;
  run_process(disk, 1, 3);
  CHECK(last_writer(disk) == 1);
  run_process(disk, 2, 0);
  run_process(disk, 3, 2);
  const auto starts = starts_in(disk, kDirectory);
  REQUIRE(starts);
  CHECK(starts->bytes() == 3 * kStartBytes);
  CHECK(starts->writer_until(kSegmentHeaderBytes) == 1);
  CHECK(last_writer(disk) == 3);
}

TEST_CASE("log starts: a start that a crash has torn is written over") {
  SimulatedDisk disk;
  run_process(disk, 1, 3);
  append(disk, "half a start");
  run_process(disk, 2, 1);
  CHECK(last_writer(disk) == 2);
  CHECK(disk.contents(kStartsPath).size() == 2 * kStartBytes);
}

TEST_CASE("log starts: after damage, and when it is long, the file begins anew") {
  SimulatedDisk disk;
  run_process(disk, 1, 3);
  SUBCASE("damage") {
    append(disk, std::string(2 * kStartBytes, 'x'));
  }
  SUBCASE("long") {
    std::vector<LogStart> starts;
    for (Lsn i = 1; i < kStartsBytesMax / kStartBytes; ++i) starts.push_back({.at = 1, .id = i});
    append(disk, bytes_of(starts));
  }
  run_process(disk, 2, 1);
  CHECK(disk.contents(kStartsPath).size() == kStartBytes);
  CHECK(last_writer(disk) == 2);
}

TEST_CASE("log starts: without room the file is removed") {
  SimulatedDisk disk;
  REQUIRE(note_start(disk, kDirectory, false, {.at = 0, .id = 1}));
  disk.set_capacity(0);
  REQUIRE(note_start(disk, kDirectory, true, {.at = 100, .id = 2}));
  CHECK_FALSE(disk.files().contains(kStartsPath));
  REQUIRE(note_start(disk, kDirectory, false, {.at = 100, .id = 2}));
  CHECK_FALSE(disk.files().contains(kStartsPath));
}

}  // namespace millrace::journal
