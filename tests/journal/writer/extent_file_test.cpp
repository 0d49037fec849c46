#include "journal/file/log_files.hpp"
#include "journal/file/simulated_disk.hpp"
#include "journal/fixture.hpp"
#include "journal/writer/log_writer.hpp"

namespace millrace::journal {
namespace {

const std::string kExtentPath = kDirectory + "/" + kExtentName;

/// What the directory says; the file must be there and whole.
LogExtent noted_in(SimulatedDisk& disk) {
  const auto extent = read_extent(disk, kDirectory);
  REQUIRE(extent);
  REQUIRE(*extent);
  return **extent;
}

}  // namespace

TEST_CASE("extent file: it says what was noted last") {
  SimulatedDisk disk;
  ExtentFile file(disk, kDirectory);
  REQUIRE(file.note({.oldest = 0, .newest = 4096, .end = 0}));
  REQUIRE(file.note({.oldest = 4096, .newest = 8192, .end = 9000}));
  CHECK(noted_in(disk).oldest == 4096);
  CHECK(noted_in(disk).newest == 8192);
  CHECK(noted_in(disk).end == 9000);
}

TEST_CASE("extent file: a power cut keeps what was noted") {
  SimulatedDisk disk;
  ExtentFile file(disk, kDirectory);
  REQUIRE(file.note({.oldest = 0, .newest = 4096, .end = 0}));
  disk.cut_power_at(1);
  CHECK_FALSE(file.note({.oldest = 0, .newest = 8192, .end = 0}));
  std::mt19937_64 random(1);
  disk.restore_power(random);
  CHECK(disk.files().contains(kExtentPath));
}

TEST_CASE("extent file: one that a former process has left is written over") {
  SimulatedDisk disk;
  REQUIRE(ExtentFile(disk, kDirectory).note({.oldest = 0, .newest = 4096, .end = 5000}));
  ExtentFile file(disk, kDirectory);
  file.resume(true);
  REQUIRE(file.note({.oldest = 0, .newest = 8192, .end = 0}));
  CHECK(noted_in(disk).newest == 8192);
}

TEST_CASE("extent file: without room it is left out, and comes back when there is room") {
  SimulatedDisk disk;
  disk.set_capacity(0);
  ExtentFile file(disk, kDirectory);
  REQUIRE(file.note({.oldest = 0, .newest = 4096, .end = 0}));
  CHECK_FALSE(disk.files().contains(kExtentPath));
  disk.set_capacity(UINT64_MAX);
  REQUIRE(file.note({.oldest = 0, .newest = 8192, .end = 0}));
  CHECK(noted_in(disk).newest == 8192);
}

}  // namespace millrace::journal
