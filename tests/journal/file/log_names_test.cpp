
#include "journal/file/log_files.hpp"
#include "journal/file/log_format.hpp"
#include "journal/file/simulated_disk.hpp"
#include "journal/fixture.hpp"

namespace millrace::journal {

TEST_CASE("names: an empty directory has none") {
  SimulatedDisk disk;
  const auto names = names_in(disk, kDirectory);
  REQUIRE(names);
  CHECK(names->segments.empty());
  CHECK_FALSE(names->has_extent);
}

TEST_CASE("names: each file of a log is found by its name") {
  SimulatedDisk disk;
  for (const std::string& name : {segment_name(4096), segment_name(0), std::string(kExtentName),
                                  std::string("spare-2"), std::string("removed-1")}) {
    disk.set_contents(kDirectory + "/" + name, "");
  }
  const auto names = names_in(disk, kDirectory);
  REQUIRE(names);
  CHECK(names->segments == std::vector<Lsn>{0, 4096});
  CHECK(names->has_extent);
  CHECK(names->reserved == std::vector<std::string>{"spare-2"});
  CHECK(names->removed == std::vector<std::string>{"removed-1"});
}

TEST_CASE("names: other files are left alone") {
  SimulatedDisk disk;
  for (const char* const name : {"lock", "spare-keys", "spare-", "removed-1.txt", "0.log.old"}) {
    disk.set_contents(kDirectory + "/" + name, "");
  }
  const auto names = names_in(disk, kDirectory);
  REQUIRE(names);
  CHECK(names->segments.empty());
  CHECK(names->reserved.empty());
  CHECK(names->removed.empty());
}

}  // namespace millrace::journal
