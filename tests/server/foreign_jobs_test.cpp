#include "server/foreign_jobs.hpp"

#include "server/scratch.hpp"
#include "support/doctest.hpp"

namespace millrace::server {

TEST_CASE("foreign jobs: a directory with files of beanstalkd is refused by name") {
  const Scratch scratch;
  scratch.write("binlog.3", "jobs");
  const Outcome<Done> checked = refuse_foreign_jobs(scratch.path(""));
  REQUIRE_FALSE(checked);
  CHECK(checked.error().text.find("stored by beanstalkd (binlog.3)") != std::string::npos);
}

TEST_CASE("foreign jobs: a directory with the database of Faktory is refused by name") {
  const Scratch scratch;
  scratch.write("faktory.rdb", "jobs");
  const Outcome<Done> checked = refuse_foreign_jobs(scratch.path(""));
  REQUIRE_FALSE(checked);
  CHECK(checked.error().text.find("stored by Faktory (faktory.rdb)") != std::string::npos);
}

TEST_CASE("foreign jobs: other files and a missing directory are accepted") {
  const Scratch scratch;
  scratch.write("00000000000000000000.log", "");
  scratch.write("my-binlog.3", "");
  CHECK(refuse_foreign_jobs(scratch.path("")));
  CHECK(refuse_foreign_jobs(scratch.path("missing")));
}

}  // namespace millrace::server
