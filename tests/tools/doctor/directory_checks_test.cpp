#include "tools/doctor/directory_checks.hpp"

#include <sys/sysmacros.h>

#include "support/doctest.hpp"

namespace millrace::tools {

TEST_CASE("user of a directory: who has it in the list of locks") {
  struct stat directory {};
  directory.st_dev = makedev(0xfd, 0x01);
  directory.st_ino = 131074;
  CHECK(holder_in("1: POSIX  ADVISORY  WRITE 99 fd:01:131074 0 EOF\n"
                  "2: FLOCK  ADVISORY  WRITE 4711 fd:01:131074 0 EOF\n",
                  directory) == 4711);
  CHECK_FALSE(holder_in("1: FLOCK  ADVISORY  WRITE 4711 fd:02:131074 0 EOF\n", directory));
  CHECK_FALSE(holder_in("1: FLOCK  ADVISORY  WRITE 4711 fd:01:1310740 0 EOF\n", directory));
  CHECK_FALSE(holder_in("", directory));
}

}  // namespace millrace::tools
