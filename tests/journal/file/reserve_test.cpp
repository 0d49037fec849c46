#include "journal/file/reserve.hpp"

#include <vector>

#include "journal/file/log_files.hpp"
#include "journal/file/simulated_disk.hpp"
#include "support/doctest.hpp"

namespace millrace::journal {
namespace {

const std::string kHome = "/data";
constexpr std::uint64_t kReservedFileBytes = 4096;

Reserve reserve_of(SimulatedDisk& disk, std::uint64_t segments,
                   std::uint64_t segment_bytes = kReservedFileBytes) {
  Reserve reserve(disk, kHome, segment_bytes, segments);
  REQUIRE(reserve.resume(names_in(disk, kHome)->reserved));
  return reserve;
}

}  // namespace

TEST_CASE("reserve: it is as many files as it has segments") {
  SimulatedDisk disk;
  Reserve reserve = reserve_of(disk, 3);
  CHECK_FALSE(reserve.is_whole());
  CHECK(*reserve.take(0));
  CHECK(reserve.is_whole());
  CHECK(reserve.held() == 3 * kReservedFileBytes);
  CHECK(disk.files().size() == 3);
  CHECK(disk.contents(kHome + "/spare-1").size() == kReservedFileBytes);
}

TEST_CASE("reserve: without descriptors its first files are lent, and others are removed") {
  SimulatedDisk disk;
  Reserve reserve = reserve_of(disk, 6);
  REQUIRE(*reserve.take(0));
  CHECK(disk.open_files() == 4);
  disk.limit_open_files(0);
  for (const char* const name : {"/1", "/2", "/3", "/4"}) {
    REQUIRE(*reserve.lend(kHome + name, "header", 100));
  }
  const auto lent = reserve.lend(kHome + "/5", "header", 100);
  REQUIRE_FALSE(lent);
  CHECK(lent.error().is_out_of_space);
  CHECK(*reserve.give_up(1));
  CHECK(reserve.held() == kReservedFileBytes);
  REQUIRE(*reserve.adopt(kHome + "/1"));
  CHECK(reserve.held() == kReservedFileBytes);
  CHECK_FALSE(disk.files().contains(kHome + "/1"));
  CHECK_FALSE(*reserve.take(0));
  disk.limit_open_files(UINT64_MAX);
  CHECK(*reserve.take(0));
}

TEST_CASE("reserve: it is not taken where too little room would remain") {
  SimulatedDisk disk;
  disk.set_capacity(3 * kReservedFileBytes);
  Reserve reserve = reserve_of(disk, 3);
  CHECK_FALSE(*reserve.take(1));
  CHECK(disk.files().empty());
  CHECK(*reserve.take(0));
}

TEST_CASE("reserve: a reserved file becomes a file of another name, with zeros after its header") {
  SimulatedDisk disk;
  Reserve reserve = reserve_of(disk, 2);
  REQUIRE(*reserve.take(0));
  disk.set_contents(kHome + "/segment", std::string(kReservedFileBytes, 'x'));
  REQUIRE(reserve.give_up(kReservedFileBytes));
  REQUIRE(*reserve.adopt(kHome + "/segment"));
  disk.leave_room(0);
  for (const char* const name : {"/one", "/two"}) {
    const auto lent = reserve.lend(kHome + name, "header", 100);
    REQUIRE(lent);
    REQUIRE(*lent);
    CHECK((*lent)->bytes == kReservedFileBytes);
    CHECK(disk.contents(kHome + name) == "header" + std::string(kReservedFileBytes - 6, '\0'));
  }
  CHECK(reserve.held() == 0);
  CHECK_FALSE(reserve.is_whole());
  CHECK_FALSE(*reserve.lend(kHome + "/three", "header", 100));
}

TEST_CASE("reserve: zeros are written only where something else may be") {
  SimulatedDisk disk;
  Reserve reserve = reserve_of(disk, 1);
  REQUIRE(*reserve.take(0));
  std::uint64_t writes = disk.write_count();
  REQUIRE(*reserve.lend(kHome + "/one", "header", 100));
  CHECK(disk.write_count() == writes + 1);
  disk.set_contents(kHome + "/one", std::string(kReservedFileBytes, 'x'));
  REQUIRE(*reserve.adopt(kHome + "/one"));
  writes = disk.write_count();
  REQUIRE(*reserve.lend(kHome + "/two", "header", 100));
  CHECK(disk.write_count() == writes + 2);
}

TEST_CASE("reserve: no file is lent to a segment that must be longer") {
  SimulatedDisk disk;
  Reserve reserve = reserve_of(disk, 1);
  REQUIRE(*reserve.take(0));
  CHECK_FALSE(*reserve.lend(kHome + "/one", "header", kReservedFileBytes + 1));
  CHECK(reserve.is_whole());
}

TEST_CASE("reserve: what becomes of a segment is never free in between") {
  SimulatedDisk disk;
  Reserve reserve = reserve_of(disk, 1);
  REQUIRE(*reserve.take(0));
  disk.leave_room(0);
  const std::uint64_t bytes = disk.bytes();
  for (int i = 0; i < 5; ++i) {
    const std::string segment = kHome + "/" + std::to_string(i);
    REQUIRE(*reserve.lend(segment, "header", 100));
    CHECK(disk.bytes() == bytes);
    REQUIRE(*reserve.adopt(segment));
    CHECK(disk.bytes() == bytes);
    CHECK(disk.files().size() == 1);
  }
}

TEST_CASE("reserve: what has another name keeps what is in it") {
  SimulatedDisk disk;
  Reserve reserve = reserve_of(disk, 2);
  REQUIRE(*reserve.take(0));
  REQUIRE(reserve.give_up(kReservedFileBytes));
  disk.set_contents(kHome + "/segment", "needed");
  REQUIRE(disk.link(kHome + "/segment", "/backup/segment"));
  CHECK(*reserve.adopt(kHome + "/segment"));
  CHECK(reserve.held() == kReservedFileBytes);
  CHECK_FALSE(disk.files().contains(kHome + "/segment"));
  CHECK(disk.contents("/backup/segment") == "needed");
}

TEST_CASE("reserve: nothing is adopted by one that is whole") {
  SimulatedDisk disk;
  Reserve reserve = reserve_of(disk, 1);
  REQUIRE(*reserve.take(0));
  disk.set_contents(kHome + "/segment", "text");
  CHECK_FALSE(*reserve.adopt(kHome + "/segment"));
  CHECK(disk.contents(kHome + "/segment") == "text");
}

TEST_CASE("reserve: what is adopted is cut to what is lacking") {
  SimulatedDisk disk;
  Reserve reserve = reserve_of(disk, 2);
  REQUIRE(*reserve.take(0));
  REQUIRE(reserve.give_up(1000));
  disk.set_contents(kHome + "/segment", std::string(3 * kReservedFileBytes, 'x'));
  REQUIRE(*reserve.adopt(kHome + "/segment"));
  CHECK(reserve.held() == 2 * kReservedFileBytes);
  CHECK(disk.bytes() == 2 * kReservedFileBytes);
}

TEST_CASE("reserve: what is adopted replaces shorter files") {
  SimulatedDisk disk;
  Reserve reserve = reserve_of(disk, 2);
  REQUIRE(*reserve.take(0));
  REQUIRE(reserve.give_up(1000));
  disk.set_contents(kHome + "/segment", std::string(kReservedFileBytes, 'x'));
  REQUIRE(*reserve.adopt(kHome + "/segment"));
  CHECK(reserve.lengths() == std::vector<std::uint64_t>{kReservedFileBytes, kReservedFileBytes});
}

TEST_CASE(
    "reserve: when there is room, many short files become as many whole ones as there are "
    "segments") {
  SimulatedDisk disk;
  for (const char* const name : {"/spare-1", "/spare-2", "/spare-3", "/spare-4"}) {
    disk.set_contents(kHome + name, std::string(kReservedFileBytes / 2, 'x'));
  }
  Reserve reserve = reserve_of(disk, 2);
  CHECK(*reserve.take(0));
  CHECK(reserve.lengths() == std::vector<std::uint64_t>{kReservedFileBytes, kReservedFileBytes});
  CHECK(disk.bytes() == 2 * kReservedFileBytes);
}

TEST_CASE("reserve: it is given up from the shortest file on, and taken back") {
  SimulatedDisk disk;
  Reserve reserve = reserve_of(disk, 2);
  REQUIRE(*reserve.take(0));
  disk.leave_room(0);
  CHECK(*reserve.give_up(1000));
  CHECK(*reserve.give_up(kReservedFileBytes));
  CHECK(disk.files().size() == 1);
  CHECK(reserve.held() == kReservedFileBytes - 1000);
  REQUIRE(reserve.regain());
  CHECK(reserve.held() >= 2 * kReservedFileBytes - 100);
  while (reserve.held() > 0) REQUIRE(*reserve.give_up(500));
  CHECK_FALSE(*reserve.give_up(1));
  CHECK(disk.files().empty());
}

TEST_CASE("reserve: a later process uses it, and leaves files of other names alone") {
  SimulatedDisk disk;
  REQUIRE(*reserve_of(disk, 3).take(0));
  disk.set_contents(kHome + "/spare-keys", "mine");
  disk.set_contents(kHome + "/spare-", "mine too");
  disk.leave_room(0);
  SUBCASE("as long as it was") {
    Reserve reserve = reserve_of(disk, 3);
    CHECK(*reserve.take(0));
    CHECK(reserve.held() == 3 * kReservedFileBytes);
  }
  SUBCASE("of fewer segments") {
    Reserve reserve = reserve_of(disk, 2);
    CHECK(*reserve.take(0));
    CHECK(reserve.held() == 2 * kReservedFileBytes);
    CHECK_FALSE(disk.files().contains(kHome + "/spare-3"));
  }
  SUBCASE("of shorter segments") {
    Reserve reserve = reserve_of(disk, 3, kReservedFileBytes / 2);
    CHECK(*reserve.take(0));
    CHECK(reserve.held() == 3 * kReservedFileBytes / 2);
  }
  CHECK(disk.contents(kHome + "/spare-keys") == "mine");
  CHECK(disk.contents(kHome + "/spare-") == "mine too");
}

}  // namespace millrace::journal
