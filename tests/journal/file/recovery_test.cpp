/// What a start makes of a log that a crash or a bad disk left.

#include "journal/file/log_files.hpp"
#include "journal/file/log_format.hpp"
#include "journal/file/simulated_disk.hpp"
#include "journal/fixture.hpp"
#include "support/edited_log.hpp"

namespace millrace::journal {
namespace {

const std::string kFirst = kDirectory + "/" + segment_name(0);

std::string path_of(Lsn first) {
  return kDirectory + "/" + segment_name(first);
}

void flip(SimulatedDisk& disk, const std::string& path, std::size_t at) {
  std::string bytes = disk.contents(path);
  bytes.at(at) ^= 0x10;
  disk.set_contents(path, bytes);
}

/// A disk with these batches, each synced before the next was written.
void fill(SimulatedDisk& disk, const Batches& batches) {
  append_synced(*start(disk, kDirectory), batches);
}

/// Enough for three segments.
const Batches kThreeSegments(6, std::string(200, 'x'));

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Where "one" and "two" are when they are the first batches of a log.
constexpr std::size_t kOneAt = kSegmentHeaderBytes;
constexpr std::size_t kTwoAt = kOneAt + frame_bytes(3);
constexpr std::size_t kEnd = kTwoAt + frame_bytes(3);

/// Leaves "zero" durable, "one" torn, and "two" whole after it, neither of which was durable.
void tear_unsynced(SimulatedDisk& disk) {
  {
    const auto journal = start(disk, kDirectory);
    disk.hold_syncs();
    append(*journal, "zero");
    disk.wait_for_held_sync();
    append(*journal, "one");
    append(*journal, "two");
    disk.release_syncs();
  }
  forget_end(disk, kDirectory);
  flip(disk, kFirst, kSegmentHeaderBytes + frame_bytes(4) + kFrameHeaderBytes);
}

}  // namespace

TEST_CASE("recovery: a last frame torn at any byte is cut, and the log continues") {
  SimulatedDisk written;
  fill(written, {"one", "two"});
  const std::string whole = written.contents(kFirst);
  REQUIRE(whole.size() == kEnd);
  for (std::size_t size = kTwoAt; size < kEnd; ++size) {
    CAPTURE(size);
    SimulatedDisk disk;
    disk.set_contents(kFirst, whole.substr(0, size));
    Batches replayed;
    append(*start(disk, kDirectory, small_segments(), &replayed), "three");
    REQUIRE(replayed == Batches{"one"});
    REQUIRE(replayed_by(disk, kDirectory) == Batches{"one", "three"});
  }
}

TEST_CASE("recovery: a torn frame is cut inside preallocated zeros as well") {
  SimulatedDisk written;
  fill(written, {"one", "two"});
  const std::string whole = written.contents(kFirst);
  for (std::size_t size = kTwoAt; size < kEnd - frame_bytes(3) + kFrameHeaderBytes + 3; ++size) {
    CAPTURE(size);
    SimulatedDisk disk;
    disk.set_contents(kFirst, whole.substr(0, size) + std::string(512 - size, '\0'));
    append(*start(disk, kDirectory), "three");
    REQUIRE(replayed_by(disk, kDirectory) == Batches{"one", "three"});
  }
}

TEST_CASE("recovery: what was cut off is told") {
  SimulatedDisk disk;
  fill(disk, {"one", "two"});
  CHECK(start(disk, kDirectory)->cut_bytes() == 0);
  forget_end(disk, kDirectory);
  disk.set_contents(kFirst, disk.contents(kFirst).substr(0, kTwoAt + 26));
  CHECK(start(disk, kDirectory)->cut_bytes() == 26);
}

TEST_CASE("recovery: frames after a torn one are cut with it when none of them was durable") {
  SimulatedDisk disk;
  tear_unsynced(disk);
  CHECK(replayed_by(disk, kDirectory) == Batches{"zero"});
  CHECK(disk.contents(kFirst).size() == kSegmentHeaderBytes + frame_bytes(4));
}

TEST_CASE("recovery: what was cut is never found after a new frame of the same length") {
  SimulatedDisk disk;
  tear_unsynced(disk);
  FileJournalOptions options = small_segments();
  options.sync_mode = SyncMode::kOff;  // writes no zeros ahead of the log
  const auto journal = start(disk, kDirectory, options);
  append_synced(*journal, {"new"});
  SimulatedDisk killed;
  killed.set_contents(kFirst, disk.contents(kFirst));
  CHECK(replayed_by(killed, kDirectory) == Batches{"zero", "new"});
}

TEST_CASE("recovery: damage before a frame that was written later stops the start") {
  SimulatedDisk disk;
  fill(disk, {"one", "two"});
  flip(disk, kFirst, kOneAt + kFrameHeaderBytes);
  const auto before = disk.files();
  const std::string problem = refusal(disk, kDirectory);
  CHECK(contains(problem, kFirst + " is damaged at offset " + std::to_string(kOneAt)));
  CHECK(contains(problem, "restore a backup"));
  CHECK_FALSE(contains(problem, "\n"));
  CHECK(disk.files() == before);
}

TEST_CASE("recovery: a damaged frame header is found by the frames after it") {
  SimulatedDisk disk;
  fill(disk, {"one", "two"});
  flip(disk, kFirst, kOneAt + 12);
  CHECK(contains(refusal(disk, kDirectory), "damaged at offset"));
}

TEST_CASE("recovery: damage in a sealed segment stops the start, in its last frame too") {
  SimulatedDisk disk;
  fill(disk, kThreeSegments);
  const std::vector<Lsn> segments = segments_of(disk, kDirectory);
  REQUIRE(segments.size() == 3);
  flip(disk, path_of(segments[1]), kSegmentHeaderBytes + frame_bytes(200) + 100);
  CHECK(contains(refusal(disk, kDirectory), path_of(segments[1]) + " is damaged at offset " +
                                                std::to_string(kSegmentHeaderBytes + 224)));
}

TEST_CASE("recovery: a damaged segment header stops the start") {
  SimulatedDisk disk;
  fill(disk, kThreeSegments);
  const Lsn last = segments_of(disk, kDirectory).back();
  SUBCASE("of a sealed segment") {
    flip(disk, kFirst, 20);
  }
  SUBCASE("of the last one, with frames after it") {
    flip(disk, path_of(last), 20);
  }
  CHECK(contains(refusal(disk, kDirectory), "is damaged at offset 0"));
}

TEST_CASE("recovery: a missing segment stops the start") {
  SimulatedDisk disk;
  fill(disk, kThreeSegments);
  disk.erase(path_of(segments_of(disk, kDirectory)[1]));
  CHECK(contains(refusal(disk, kDirectory), kFirst + " is damaged"));
}

TEST_CASE("recovery: a segment under another's name stops the start") {
  SimulatedDisk disk;
  fill(disk, {"one"});
  disk.set_contents(path_of(8), disk.contents(kFirst));
  disk.erase(kFirst);
  CHECK(contains(refusal(disk, kDirectory), "belongs to " + segment_name(0)));
}

TEST_CASE("recovery: a sealed segment cut short stops the start") {
  SimulatedDisk disk;
  fill(disk, kThreeSegments);
  disk.set_contents(kFirst, disk.contents(kFirst).substr(0, 300));
  CHECK(contains(refusal(disk, kDirectory), kFirst + " is damaged at offset 300"));
}

TEST_CASE("recovery: a sealed segment that kept its preallocated end is whole") {
  SimulatedDisk disk;
  fill(disk, kThreeSegments);
  disk.set_contents(kFirst, disk.contents(kFirst) + std::string(500, '\0'));
  CHECK(replayed_by(disk, kDirectory) == kThreeSegments);
}

TEST_CASE("recovery: the oldest segments may be gone when they were trimmed") {
  SimulatedDisk disk;
  fill(disk, kThreeSegments);
  const Lsn second = segments_of(disk, kDirectory)[1];
  start(disk, kDirectory)->trim(second);
  CHECK(segments_of(disk, kDirectory).front() == second);
  CHECK(replayed_by(disk, kDirectory).size() == 4);
}

TEST_CASE("recovery: a segment that should be there is missed, first and last ones too") {
  SimulatedDisk disk;
  fill(disk, kThreeSegments);
  const std::vector<Lsn> segments = segments_of(disk, kDirectory);
  std::string missing;
  SUBCASE("the first") {
    disk.erase(path_of(segments[0]));
    missing = segment_name(segments[0]);
  }
  SUBCASE("the last") {
    disk.erase(path_of(segments[2]));
    missing = segment_name(segments[2]);
  }
  SUBCASE("all") {
    for (const Lsn first : segments) disk.erase(path_of(first));
    missing = segment_name(segments[2]);
  }
  const auto before = disk.files();
  CHECK(contains(refusal(disk, kDirectory), missing + " is missing"));
  CHECK(disk.files() == before);
}

TEST_CASE("recovery: the last header is missed when it was whole, though nothing follows it") {
  SimulatedDisk disk;
  fill(disk, {"one"});
  disk.set_contents(kFirst, std::string(kSegmentHeaderBytes, '\0'));
  CHECK(contains(refusal(disk, kDirectory), "the segment header is not whole"));
}

TEST_CASE("recovery: without its extent, or with a torn one, a log is read, and gets it again") {
  SimulatedDisk disk;
  fill(disk, kThreeSegments);
  const std::string path = kDirectory + "/" + kExtentName;
  const std::string whole = disk.contents(path);
  SUBCASE("none") {
    disk.erase(path);
  }
  SUBCASE("torn") {
    disk.set_contents(path, whole.substr(0, 20));
  }
  SUBCASE("a flipped bit") {
    flip(disk, path, 9);
  }
  CHECK(replayed_by(disk, kDirectory) == kThreeSegments);
  CHECK(disk.contents(path) == whole);
}

TEST_CASE("recovery: an unknown format version is refused and nothing is changed") {
  SimulatedDisk disk;
  fill(disk, kThreeSegments);
  const std::string path = path_of(segments_of(disk, kDirectory).back());
  disk.set_contents(path, with_version(disk.contents(path), 7));
  const auto before = disk.files();
  CHECK(refusal(disk, kDirectory) ==
        path +
            " has journal format 7 (at offset 8), and this program reads format 1; nothing was "
            "changed: start the version of the program that wrote it, or restore a backup");
  CHECK(disk.files() == before);
}

TEST_CASE("recovery: a version that a flipped bit has made is damage") {
  SimulatedDisk disk;
  fill(disk, kThreeSegments);
  flip(disk, kFirst, kVersionAt);
  CHECK(contains(refusal(disk, kDirectory), kFirst + " is damaged at offset 0"));
}

TEST_CASE("recovery: a log that was left in order must have its end") {
  SimulatedDisk disk;
  fill(disk, {"one", "two"});
  const std::string whole = disk.contents(kFirst);
  std::size_t cut = 0;
  SUBCASE("within a frame") {
    cut = 3;
  }
  SUBCASE("between two") {
    cut = frame_bytes(3);
  }
  SUBCASE("all of them") {
    cut = 2 * frame_bytes(3);
  }
  disk.set_contents(kFirst, whole.substr(0, whole.size() - cut));
  const auto before = disk.files();
  const std::string missing = std::to_string(cut <= frame_bytes(3) ? frame_bytes(3) : cut);
  CHECK(contains(refusal(disk, kDirectory), "the last " + missing + " bytes of the log"));
  CHECK(disk.files() == before);
}

TEST_CASE("recovery: the end of a log that is written to is not known") {
  SimulatedDisk disk;
  fill(disk, {"one", "two"});
  const std::string path = kDirectory + "/" + kExtentName;
  CHECK(decode_extent(disk.contents(path))->end != 0);
  const auto journal = start(disk, kDirectory);
  CHECK(decode_extent(disk.contents(path))->end == 0);
}

TEST_CASE("recovery: a last segment that was only begun is made anew") {
  SimulatedDisk disk;
  fill(disk, kThreeSegments);
  const Lsn next = segments_of(disk, kDirectory).back() +
                   disk.contents(path_of(segments_of(disk, kDirectory).back())).size();
  SUBCASE("empty") {
    disk.set_contents(path_of(next), "");
  }
  SUBCASE("short") {
    disk.set_contents(path_of(next), "millrac");
  }
  SUBCASE("all zeros") {
    disk.set_contents(path_of(next), std::string(512, '\0'));
  }
  SUBCASE("half a header") {
    const auto header = encode_segment_header({.first = next, .salt = kSalt});
    disk.set_contents(path_of(next), std::string(header.data(), 20) + std::string(492, '\0'));
  }
  append(*start(disk, kDirectory), std::string(200, 'y'));
  Batches all = kThreeSegments;
  all.emplace_back(200, 'y');
  CHECK(replayed_by(disk, kDirectory) == all);
  CHECK(segments_of(disk, kDirectory).back() == next);
}

TEST_CASE("recovery: a first segment that was only begun is made anew") {
  SimulatedDisk disk;
  disk.set_contents(kFirst, "");
  append(*start(disk, kDirectory), "one");
  CHECK(replayed_by(disk, kDirectory) == Batches{"one"});
}

TEST_CASE("recovery: where nothing but removed files is left, they go, and their names are free") {
  SimulatedDisk disk;
  disk.set_contents(kDirectory + "/removed-1", "x");
  const auto journal = start(disk, kDirectory);
  CHECK_FALSE(disk.files().contains(kDirectory + "/removed-1"));
}

TEST_CASE("recovery: the segment before one that was only begun has no torn tail") {
  SimulatedDisk disk;
  fill(disk, {"one"});
  disk.set_contents(path_of(disk.contents(kFirst).size()), "");
  flip(disk, kFirst, kOneAt + kFrameHeaderBytes);
  CHECK(contains(refusal(disk, kDirectory), kFirst + " is damaged"));
}

TEST_CASE("recovery: a body that looks like a frame proves nothing") {
  const Lsn inside = kOneAt + kFrameHeaderBytes + 8;
  const auto forged = encode_frame_header("forged!!", kOneAt + 8, {.lsn = inside, .salt = 1});
  SimulatedDisk disk;
  fill(disk, {std::string(8, 'x') + std::string(forged.data(), forged.size()) + "forged!!"});
  forget_end(disk, kDirectory);
  flip(disk, kFirst, kOneAt + kFrameHeaderBytes);
  CHECK(replayed_by(disk, kDirectory).empty());
}

TEST_CASE("recovery: where nothing but spare files is left, a journal is missed") {
  SimulatedDisk disk;
  FileJournalOptions options = small_segments();
  options.reserved_segments = 2;
  append_synced(*start(disk, kDirectory, options), {"one"});
  disk.erase(kFirst);
  disk.erase(kDirectory + "/" + kExtentName);
  const auto before = disk.files();
  CHECK(contains(refusal(disk, kDirectory), "held a journal, of which spare-1 is left"));
  CHECK(disk.files() == before);
  disk.erase(kDirectory + "/spare-1");
  disk.erase(kDirectory + "/spare-2");
  CHECK(replayed_by(disk, kDirectory).empty());
}

TEST_CASE("recovery: the directory is listed once to read the log, and once to go on with it") {
  SimulatedDisk disk;
  FileJournalOptions options = small_segments();
  options.reserved_segments = 2;
  append_synced(*start(disk, kDirectory, options), kThreeSegments);
  const std::uint64_t lists = disk.list_count();
  const auto journal = start(disk, kDirectory, options);
  CHECK(disk.list_count() == lists + 2);
  journal->trim(append_synced(*journal, kThreeSegments).back().begin);
  journal->sync();
  CHECK(disk.list_count() == lists + 2);
}

TEST_CASE("recovery: other files in the directory do not matter") {
  SimulatedDisk disk;
  fill(disk, {"one"});
  disk.set_contents(kDirectory + "/notes.txt", "mine");
  CHECK(replayed_by(disk, kDirectory) == Batches{"one"});
  CHECK(disk.contents(kDirectory + "/notes.txt") == "mine");
}

}  // namespace millrace::journal
