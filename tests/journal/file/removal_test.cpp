#include "journal/file/removal.hpp"

#include "journal/file/log_files.hpp"
#include "journal/file/simulated_disk.hpp"
#include "journal/fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::journal {
namespace {

const std::string kSegment = kDirectory + "/segment";
constexpr std::uint64_t kPart = 1000;

}  // namespace

TEST_CASE("removal: the name disappears at once, the room is freed a little at a time") {
  SimulatedDisk disk;
  disk.set_contents(kSegment, std::string(3 * kPart + 1, 'x'));
  Removal removal(disk, kDirectory);
  CHECK(removal.is_done());
  REQUIRE(removal.remove(kSegment));
  CHECK_FALSE(disk.files().contains(kSegment));
  for (int left = 3; left >= 0; --left) {
    CHECK_FALSE(removal.is_done());
    CHECK(disk.bytes() == static_cast<std::uint64_t>(left) * kPart + 1);
    if (left > 0) REQUIRE(removal.free(kPart));
  }
  REQUIRE(removal.free(kPart));
  CHECK(removal.is_done());
  CHECK(disk.files().empty());
  CHECK(removal.free(kPart));
}

TEST_CASE("removal: without descriptors, files are freed at once") {
  SimulatedDisk disk;
  Removal removal(disk, kDirectory);
  disk.set_contents(kSegment, std::string(3 * kPart, 'x'));
  REQUIRE(removal.remove(kSegment));
  disk.set_contents(kSegment, std::string(kPart, 'x'));
  disk.limit_open_files(0);
  REQUIRE(removal.remove(kSegment));
  CHECK(removal.bytes() == 3 * kPart);
  REQUIRE(removal.free(1));
  CHECK(removal.is_done());
  CHECK(removal.bytes() == 0);
  CHECK(disk.files().empty());
}

TEST_CASE("removal: many files at once, of which one is open at a time") {
  SimulatedDisk disk;
  Removal removal(disk, kDirectory);
  for (int i = 0; i < 100; ++i) {
    disk.set_contents(kSegment, std::string(kPart, 'x'));
    REQUIRE(removal.remove(kSegment));
  }
  CHECK(disk.open_files() == 0);
  REQUIRE(removal.free(10 * kPart + 1));
  CHECK(removal.bytes() == 90 * kPart - 1);
  CHECK(disk.bytes() == removal.bytes());
  CHECK(disk.files().size() == 90);
  CHECK(disk.open_files() == 1);
  REQUIRE(removal.finish());
  CHECK(removal.is_done());
  CHECK(disk.files().empty());
  CHECK(disk.open_files() == 0);
}

TEST_CASE("removal: what has another name keeps what is in it") {
  SimulatedDisk disk;
  disk.set_contents(kSegment, "needed");
  REQUIRE(disk.link(kSegment, "/backup/segment"));
  Removal removal(disk, kDirectory);
  REQUIRE(removal.remove(kSegment));
  CHECK(removal.is_done());
  CHECK(disk.files().size() == 1);
  CHECK(disk.contents("/backup/segment") == "needed");
}

TEST_CASE("removal: what a former process left half-way is removed, and nothing else") {
  SimulatedDisk disk;
  disk.set_contents(kSegment, std::string(2 * kPart, 'x'));
  const std::string other = kDirectory + "/removed-lines.txt";
  disk.set_contents(other, "kept");
  {
    Removal removal(disk, kDirectory);
    REQUIRE(removal.remove(kSegment));
    REQUIRE(removal.free(kPart));
  }
  CHECK(disk.files().size() == 2);
  Removal removal(disk, kDirectory);
  REQUIRE(removal.resume(names_in(disk, kDirectory)->removed));
  CHECK(disk.files().size() == 1);
  CHECK(disk.contents(other) == "kept");
}

TEST_CASE("removal: no power cut brings the name back once something was freed") {
  for (std::uint64_t change = 1; change <= 6; ++change) {
    SimulatedDisk disk;
    disk.set_contents(kSegment, std::string(2 * kPart, 'x'));
    disk.cut_power_at(change);
    Removal removal(disk, kDirectory);
    const bool is_removed = static_cast<bool>(removal.remove(kSegment));
    if (is_removed) (void)removal.finish();
    std::mt19937_64 random(change);
    disk.restore_power(random);
    const auto files = disk.files();
    const auto segment = files.find(kSegment);
    if (is_removed) CHECK(segment == files.end());
    if (segment != files.end()) CHECK(segment->second.size() == 2 * kPart);
  }
}

}  // namespace millrace::journal
