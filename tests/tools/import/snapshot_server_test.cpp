#include "tools/import/faktory/snapshot_server.hpp"

#include "support/doctest.hpp"
#include "support/scratch.hpp"

namespace millrace::tools {
namespace {

constexpr const char* kStart =
    "7:C 26 Nov 2026 01:12:49.716 # oO0OoO0OoO0Oo Redis is starting oO0OoO0OoO0Oo\n"
    "7:C 26 Nov 2026 01:12:49.716 # Redis version=7.0.15, bits=64, just started\n"
    "7:C 26 Nov 2026 01:12:49.716 # Configuration loaded\n"
    "7:M 26 Nov 2026 01:12:49.717 # Server initialized\n"
    "7:M 26 Nov 2026 01:12:49.717 # WARNING Memory overcommit must be enabled!\n";

std::string failure(const std::string& rest) {
  return load_failure_of(kStart + rest);
}

}  // namespace

TEST_CASE("redis process: the reason is the first thing said after the beginning") {
  CHECK(failure("7:M 26 Nov 2026 01:12:49.773 # Can't handle RDB format version 99\n"
                "7:M 26 Nov 2026 01:12:49.773 # Fatal error loading the DB. Exiting.\n") ==
        "offset 5: Can't handle RDB format version 99: install the redis-server that wrote it, or "
        "import from that one while it runs");
}

TEST_CASE("redis process: where Redis has looked at the file again, it tells the offset") {
  CHECK(failure("7:M 26 Nov 2026 01:12:49.723 # Short read or OOM loading DB.\n"
                "[offset 27] AUX FIELD redis-ver = '7.0.15'\n"
                "--- RDB ERROR DETECTED ---\n"
                "[offset 165] Unexpected EOF reading RDB file\n"
                "[info] 1 keys read\n") == "offset 165: Unexpected EOF reading RDB file");
  CHECK(failure("--- RDB ERROR DETECTED ---\n"
                "[offset 1424] Internal error in RDB reading offset 0, function at rdb.c:413 -> "
                "Invalid LZF compressed string\n") == "offset 1424: Invalid LZF compressed string");
}

TEST_CASE("redis process: one that says nothing, or only half of it") {
  CHECK(failure("") == "it has ended without a reason");
  CHECK(load_failure_of("") == "it has ended without a reason");
  CHECK(failure("--- RDB ERROR DETECTED ---\n[offset 1") == "offset 1");
  CHECK(failure("--- RDB ERROR DETECTED ---\n[offset -> ]") == "offset -> :");
}

TEST_CASE("redis process: the program is looked for in the order of the path") {
  const Scratch scratch;
  CHECK_FALSE(find_redis_server(scratch.path("")));
  CHECK_FALSE(find_redis_server(""));
  CHECK_FALSE(find_redis_server("::"));
  scratch.write("redis-server", "");
  CHECK_FALSE(find_redis_server(scratch.path("")));
}

}  // namespace millrace::tools
