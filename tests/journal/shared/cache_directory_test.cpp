#include "journal/shared/cache_directory.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "journal/file/simulated_disk.hpp"
#include "support/doctest.hpp"

namespace millrace::journal {
namespace {

std::vector<std::string> names_in(SimulatedDisk& disk) {
  std::vector<std::string> names = disk.list("/data").value();
  std::ranges::sort(names);
  return names;
}

}  // namespace

TEST_CASE("cache directory: a new one is empty, and then a cache") {
  SimulatedDisk disk;
  CHECK(look_into(disk, "/data").value() == DirectoryContent::kNothing);
  REQUIRE(mark_as_cache(disk, "/data"));
  CHECK(look_into(disk, "/data").value() == DirectoryContent::kCache);
}

TEST_CASE("cache directory: one with segments that is not marked is a journal") {
  SimulatedDisk disk;
  REQUIRE(disk.ensure_directory("/data"));
  REQUIRE(disk.create("/data/00000000000000000000.log"));
  CHECK(look_into(disk, "/data").value() == DirectoryContent::kJournal);
}

TEST_CASE("cache directory: a cache becomes a journal, and a journal one that was moved") {
  SimulatedDisk disk;
  REQUIRE(disk.ensure_directory("/data"));
  REQUIRE(disk.create("/data/00000000000000000000.log"));
  REQUIRE(mark_as_cache(disk, "/data"));
  REQUIRE(unmark_cache(disk, "/data"));
  CHECK(look_into(disk, "/data").value() == DirectoryContent::kJournal);
  REQUIRE(mark_as_moved(disk, "/data", "nats://host/jobs"));
  CHECK(look_into(disk, "/data").value() == DirectoryContent::kMoved);
  CHECK(moved_to(disk, "/data").value() == "nats://host/jobs");
  // Once more, it stays; what was not finished is written anew.
  REQUIRE(mark_as_moved(disk, "/data", "nats://host/jobs"));
  REQUIRE(disk.remove("/data/moved"));
  REQUIRE(disk.create("/data/moved"));
  CHECK(moved_to(disk, "/data").value().empty());
  REQUIRE(mark_as_moved(disk, "/data", "nats://host/jobs"));
  CHECK(disk.contents("/data/moved") ==
        "The jobs of this journal were moved to the log nats://host/jobs\n");
}

TEST_CASE("cache directory: emptied, it keeps its mark and what is none of ours") {
  SimulatedDisk disk;
  REQUIRE(look_into(disk, "/data"));
  REQUIRE(mark_as_cache(disk, "/data"));
  for (const char* name : {"00000000000000000000.log", "extent", "spare-1", "removed-2", "notes"}) {
    REQUIRE(disk.create(std::string("/data/") + name));
  }
  REQUIRE(empty_cache(disk, "/data"));
  CHECK(names_in(disk) == std::vector<std::string>{"cache", "notes"});
  CHECK(look_into(disk, "/data").value() == DirectoryContent::kCache);
}

TEST_CASE("cache directory: one that is not marked any more is not emptied") {
  SimulatedDisk disk;
  REQUIRE(disk.ensure_directory("/data"));
  REQUIRE(disk.create("/data/00000000000000000000.log"));
  CHECK_FALSE(empty_cache(disk, "/data"));
  CHECK(names_in(disk).size() == 1);
}

TEST_CASE("cache directory: a cache that failed says so until it is emptied") {
  SimulatedDisk disk;
  REQUIRE(look_into(disk, "/data"));
  REQUIRE(mark_as_cache(disk, "/data"));
  REQUIRE(disk.create("/data/00000000000000000000.log"));
  mark_as_broken(disk, "/data");
  CHECK(look_into(disk, "/data").value() == DirectoryContent::kBrokenCache);
  REQUIRE(empty_cache(disk, "/data"));
  CHECK(look_into(disk, "/data").value() == DirectoryContent::kCache);
  CHECK(names_in(disk) == std::vector<std::string>{"cache"});
}

TEST_CASE("cache directory: one whose emptying a power cut has ended is broken, or all is gone") {
  std::mt19937_64 random(4);
  bool was_broken = false;
  for (std::uint64_t cut = 1; cut < 12; ++cut) {
    SimulatedDisk disk;
    REQUIRE(look_into(disk, "/data"));
    REQUIRE(mark_as_cache(disk, "/data"));
    for (const char* name : {"00000000000000000000.log", "extent", "removed-2"}) {
      REQUIRE(disk.create(std::string("/data/") + name));
    }
    REQUIRE(disk.sync_directory("/data"));
    disk.cut_power_at(cut);
    const bool is_done = empty_cache(disk, "/data").has_value();
    disk.restore_power(random);
    const bool is_whole = names_in(disk).size() == 4;
    const bool is_empty = names_in(disk) == std::vector<std::string>{"cache"};
    const bool is_broken = look_into(disk, "/data").value() == DirectoryContent::kBrokenCache;
    CHECK((is_whole || is_empty || is_broken));
    CHECK((!is_done || is_empty));
    was_broken |= is_broken && names_in(disk).size() < 5;
  }
  CHECK(was_broken);
}

}  // namespace millrace::journal
