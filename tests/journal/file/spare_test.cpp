#include "journal/file/spare.hpp"

#include <vector>

#include "journal/file/simulated_disk.hpp"
#include "support/doctest.hpp"

namespace millrace::journal {
namespace {

const std::string kHome = "/data";
constexpr std::uint64_t kPieceBytes = 4096;

Spare spare_of(SimulatedDisk& disk, std::uint64_t pieces) {
  return Spare(disk, kHome, kPieceBytes, pieces);
}

}  // namespace

TEST_CASE("spare: it is as many files as it has pieces") {
  SimulatedDisk disk;
  Spare spare = spare_of(disk, 3);
  CHECK_FALSE(spare.is_whole());
  CHECK(*spare.take(0));
  CHECK(spare.is_whole());
  CHECK(spare.held() == 3 * kPieceBytes);
  CHECK(disk.files().size() == 3);
  CHECK(disk.contents(kHome + "/spare-1").size() == kPieceBytes);
}

TEST_CASE("spare: it is not taken where there would be too little room beside it") {
  SimulatedDisk disk;
  disk.set_capacity(3 * kPieceBytes);
  Spare spare = spare_of(disk, 3);
  CHECK_FALSE(*spare.take(1));
  CHECK(disk.files().empty());
  CHECK(*spare.take(0));
}

TEST_CASE("spare: a piece becomes a file of another name, with zeros behind its header") {
  SimulatedDisk disk;
  Spare spare = spare_of(disk, 2);
  REQUIRE(*spare.take(0));
  disk.set_contents(kHome + "/segment", std::string(kPieceBytes, 'x'));
  REQUIRE(spare.give_up(kPieceBytes));
  REQUIRE(*spare.adopt(kHome + "/segment"));
  disk.leave_room(0);
  for (const char* const name : {"/one", "/two"}) {
    const auto lent = spare.lend(kHome + name, "header", 100);
    REQUIRE(lent);
    REQUIRE(*lent);
    CHECK((*lent)->bytes == kPieceBytes);
    CHECK(disk.contents(kHome + name) == "header" + std::string(kPieceBytes - 6, '\0'));
  }
  CHECK(spare.held() == 0);
  CHECK_FALSE(spare.is_whole());
  CHECK_FALSE(*spare.lend(kHome + "/three", "header", 100));
}

TEST_CASE("spare: zeros are written only where something else may stand") {
  SimulatedDisk disk;
  Spare spare = spare_of(disk, 1);
  REQUIRE(*spare.take(0));
  std::uint64_t writes = disk.write_count();
  REQUIRE(*spare.lend(kHome + "/one", "header", 100));
  CHECK(disk.write_count() == writes + 1);
  disk.set_contents(kHome + "/one", std::string(kPieceBytes, 'x'));
  REQUIRE(*spare.adopt(kHome + "/one"));
  writes = disk.write_count();
  REQUIRE(*spare.lend(kHome + "/two", "header", 100));
  CHECK(disk.write_count() == writes + 2);
}

TEST_CASE("spare: no piece is lent to who needs a longer one") {
  SimulatedDisk disk;
  Spare spare = spare_of(disk, 1);
  REQUIRE(*spare.take(0));
  CHECK_FALSE(*spare.lend(kHome + "/one", "header", kPieceBytes + 1));
  CHECK(spare.is_whole());
}

TEST_CASE("spare: what becomes of a segment is never free in between") {
  SimulatedDisk disk;
  Spare spare = spare_of(disk, 1);
  REQUIRE(*spare.take(0));
  disk.leave_room(0);
  const std::uint64_t bytes = disk.bytes();
  for (int i = 0; i < 5; ++i) {
    const std::string segment = kHome + "/" + std::to_string(i);
    REQUIRE(*spare.lend(segment, "header", 100));
    CHECK(disk.bytes() == bytes);
    REQUIRE(*spare.adopt(segment));
    CHECK(disk.bytes() == bytes);
    CHECK(disk.files().size() == 1);
  }
}

TEST_CASE("spare: what has another name keeps what is in it") {
  SimulatedDisk disk;
  Spare spare = spare_of(disk, 2);
  REQUIRE(*spare.take(0));
  REQUIRE(spare.give_up(kPieceBytes));
  disk.set_contents(kHome + "/segment", "needed");
  REQUIRE(disk.link(kHome + "/segment", "/backup/segment"));
  CHECK(*spare.adopt(kHome + "/segment"));
  CHECK(spare.held() == kPieceBytes);
  CHECK_FALSE(disk.files().contains(kHome + "/segment"));
  CHECK(disk.contents("/backup/segment") == "needed");
}

TEST_CASE("spare: nothing is adopted by one that is whole") {
  SimulatedDisk disk;
  Spare spare = spare_of(disk, 1);
  REQUIRE(*spare.take(0));
  disk.set_contents(kHome + "/segment", "text");
  CHECK_FALSE(*spare.adopt(kHome + "/segment"));
  CHECK(disk.contents(kHome + "/segment") == "text");
}

TEST_CASE("spare: what is adopted is cut to what is lacking") {
  SimulatedDisk disk;
  Spare spare = spare_of(disk, 2);
  REQUIRE(*spare.take(0));
  REQUIRE(spare.give_up(1000));
  disk.set_contents(kHome + "/segment", std::string(3 * kPieceBytes, 'x'));
  REQUIRE(*spare.adopt(kHome + "/segment"));
  CHECK(spare.held() == 2 * kPieceBytes);
  CHECK(disk.bytes() == 2 * kPieceBytes);
}

TEST_CASE("spare: what is adopted replaces shorter pieces") {
  SimulatedDisk disk;
  Spare spare = spare_of(disk, 2);
  REQUIRE(*spare.take(0));
  REQUIRE(spare.give_up(1000));
  disk.set_contents(kHome + "/segment", std::string(kPieceBytes, 'x'));
  REQUIRE(*spare.adopt(kHome + "/segment"));
  CHECK(spare.lengths() == std::vector<std::uint64_t>{kPieceBytes, kPieceBytes});
}

TEST_CASE("spare: when there is room, many short pieces become as many whole ones as there are") {
  SimulatedDisk disk;
  for (const char* const name : {"/spare-1", "/spare-2", "/spare-3", "/spare-4"}) {
    disk.set_contents(kHome + name, std::string(kPieceBytes / 2, 'x'));
  }
  Spare spare = spare_of(disk, 2);
  CHECK(*spare.take(0));
  CHECK(spare.lengths() == std::vector<std::uint64_t>{kPieceBytes, kPieceBytes});
  CHECK(disk.bytes() == 2 * kPieceBytes);
}

TEST_CASE("spare: it is given up from the shortest piece on, and taken back") {
  SimulatedDisk disk;
  Spare spare = spare_of(disk, 2);
  REQUIRE(*spare.take(0));
  disk.leave_room(0);
  CHECK(*spare.give_up(1000));
  CHECK(*spare.give_up(kPieceBytes));
  CHECK(disk.files().size() == 1);
  CHECK(spare.held() == kPieceBytes - 1000);
  REQUIRE(spare.regain());
  CHECK(spare.held() >= 2 * kPieceBytes - 100);
  while (spare.held() > 0) REQUIRE(*spare.give_up(500));
  CHECK_FALSE(*spare.give_up(1));
  CHECK(disk.files().empty());
}

TEST_CASE("spare: a later process goes on with it, and leaves files of other names alone") {
  SimulatedDisk disk;
  REQUIRE(*spare_of(disk, 3).take(0));
  disk.set_contents(kHome + "/spare-keys", "mine");
  disk.set_contents(kHome + "/spare-", "mine too");
  disk.leave_room(0);
  SUBCASE("as long as it was") {
    Spare spare = spare_of(disk, 3);
    CHECK(*spare.take(0));
    CHECK(spare.held() == 3 * kPieceBytes);
  }
  SUBCASE("of fewer pieces") {
    Spare spare = spare_of(disk, 2);
    CHECK(*spare.take(0));
    CHECK(spare.held() == 2 * kPieceBytes);
    CHECK_FALSE(disk.files().contains(kHome + "/spare-3"));
  }
  SUBCASE("of shorter pieces") {
    Spare spare(disk, kHome, kPieceBytes / 2, 3);
    CHECK(*spare.take(0));
    CHECK(spare.held() == 3 * kPieceBytes / 2);
  }
  CHECK(disk.contents(kHome + "/spare-keys") == "mine");
  CHECK(disk.contents(kHome + "/spare-") == "mine too");
}

}  // namespace millrace::journal
