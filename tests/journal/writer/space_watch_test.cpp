/// Here the log has no reader and no queue; tests/journal/file/full_disk_test.cpp has the whole.

#include "journal/writer/space_watch.hpp"

#include "journal/file/log_reader.hpp"
#include "journal/file/simulated_disk.hpp"
#include "journal/fixture.hpp"

namespace millrace::journal {
namespace {

constexpr std::uint64_t kRoomBytes = 4096;  ///< of a segment
constexpr SpaceWatch::Time kBegin{std::chrono::hours(1)};
constexpr std::chrono::milliseconds kLook{1000};

/// An empty log with one reserved segment, and its view of the disk.
struct WatchedLog {
  SimulatedDisk disk;
  LogWriter log{disk, kDirectory, {.segment_bytes = kRoomBytes, .reserved_segments = 1}};
  WriterStatus status;
  SegmentRooms rooms;
  SpaceWatch full_disk{log, status, rooms, {.segment_bytes = kRoomBytes, .look_interval = kLook}};

  bool begin() {
    const auto reader = LogReader::open(disk, kDirectory);
    REQUIRE(reader);
    REQUIRE(log.resume(*reader, {}));
    const Outcome<bool> is_full = full_disk.begin();
    REQUIRE(is_full);
    return *is_full;
  }
};

}  // namespace

TEST_CASE("full disk watch: with room for the reserve and a segment it is not full") {
  WatchedLog watched;
  watched.disk.set_capacity(3 * kRoomBytes + kExtentBytes + kStartBytes);
  CHECK_FALSE(watched.begin());
  CHECK(watched.log.reserve().is_whole());
}

TEST_CASE("full disk watch: with less it is full, and takes what it can") {
  WatchedLog watched;
  watched.disk.set_capacity(2 * kRoomBytes + kExtentBytes + kStartBytes);
  CHECK(watched.begin());
  CHECK(watched.log.reserve().held() > 0);
  CHECK(watched.status.log_bytes_max() == kRoomBytes + watched.log.reserve().held());
}

TEST_CASE("full disk watch: a full disk is told once, with the rooms of its segments") {
  WatchedLog watched;
  REQUIRE_FALSE(watched.begin());
  int wakes = 0;
  watched.status.on_change([&] { ++wakes; });
  watched.full_disk.note_full(kBegin, "no room");
  watched.full_disk.note_full(kBegin, "no room again");
  CHECK(wakes == 1);
  CHECK(watched.status.is_full());
  CHECK(watched.status.problem() == "no room");
  CHECK(watched.rooms.of_newest({0}) == kRoomBytes);
}

TEST_CASE("full disk watch: the problem tells how much room there is, and how much is needed") {
  WatchedLog watched;
  watched.disk.set_capacity(3 * kRoomBytes + kExtentBytes + kStartBytes);
  REQUIRE_FALSE(watched.begin());
  CHECK(watched.full_disk.lack_of_room().empty());
  watched.disk.set_capacity(2 * kRoomBytes + kExtentBytes + kStartBytes + 100);
  watched.full_disk.note_full(kBegin, "no room");
  CHECK(watched.status.problem() == "no room; 100 bytes are free, and 4096 are needed");
}

TEST_CASE("full disk watch: it looks for room once the interval is over") {
  WatchedLog watched;
  watched.disk.set_capacity(2 * kRoomBytes + kExtentBytes + kStartBytes);
  watched.status.begin(0, watched.begin());
  REQUIRE(watched.full_disk.look(kBegin));
  CHECK(watched.full_disk.next_look() == kBegin + kLook);
  watched.disk.set_capacity(9 * kRoomBytes);
  REQUIRE(watched.full_disk.look(kBegin + kLook - std::chrono::milliseconds(1)));
  CHECK(watched.status.is_full());
  REQUIRE(watched.full_disk.look(kBegin + kLook));
  CHECK_FALSE(watched.status.is_full());
  CHECK(watched.log.reserve().is_whole());
}

TEST_CASE("full disk watch: it tells whether somebody shares the oldest segment") {
  WatchedLog watched;
  watched.disk.set_capacity(2 * kRoomBytes + kExtentBytes + kStartBytes);
  watched.status.begin(0, watched.begin());
  const std::string oldest = kDirectory + "/" + segment_name(0);
  REQUIRE(watched.disk.link(oldest, "/backup/segment"));
  REQUIRE(watched.full_disk.look(kBegin));
  CHECK(watched.status.is_oldest_shared());
  watched.disk.erase("/backup/segment");
  REQUIRE(watched.full_disk.look(kBegin));
  CHECK_FALSE(watched.status.is_oldest_shared());
}

}  // namespace millrace::journal
