#include "server/foreign_jobs.hpp"

#include <filesystem>

#include "support/doctest.hpp"
#include "support/scratch.hpp"

namespace millrace::server {

TEST_CASE("foreign jobs: a directory with files of beanstalkd is refused by name") {
  const Scratch scratch;
  scratch.write("binlog.3", "jobs");
  const Outcome<Done> checked = refuse_foreign_jobs(scratch.path(""));
  REQUIRE_FALSE(checked);
  CHECK(checked.error().text.find("stored by beanstalkd (binlog.3)") != std::string::npos);
}

TEST_CASE("foreign jobs: the refusal of a binlog names the command that imports it") {
  const Scratch scratch;
  scratch.write("binlog.1", "jobs");
  const std::string bare = std::filesystem::canonical(scratch.path("")).string();
  const std::string text = refuse_foreign_jobs(scratch.path("") + "/./").error().text;
  CHECK(text.find("type: millrace import --beanstalkd " + bare + " --into " + bare +
                  "-millrace;") != std::string::npos);
}

TEST_CASE("foreign jobs: an odd directory is one word of the command") {
  const Scratch scratch;
  std::filesystem::create_directory(scratch.path("a b's"));
  scratch.write("a b's/binlog.1", "jobs");
  const std::string text = refuse_foreign_jobs(scratch.path("a b's")).error().text;
  CHECK(text.find("/a b'\\''s-millrace'; then") != std::string::npos);
}

TEST_CASE("foreign jobs: a directory with the database of Faktory is refused by name") {
  const Scratch scratch;
  scratch.write("faktory.rdb", "jobs");
  const Outcome<Done> checked = refuse_foreign_jobs(scratch.path(""));
  REQUIRE_FALSE(checked);
  CHECK(checked.error().text.find("stored by Faktory (faktory.rdb)") != std::string::npos);
}

TEST_CASE("foreign jobs: the refusal of Faktory's database names the command that imports it") {
  const Scratch scratch;
  scratch.write("faktory.rdb", "jobs");
  const std::string bare = std::filesystem::canonical(scratch.path("")).string();
  const std::string text = refuse_foreign_jobs(scratch.path("")).error().text;
  CHECK(text.find("stop Faktory and type: millrace import --faktory " + bare + " --into " + bare +
                  "-millrace;") != std::string::npos);
}

TEST_CASE("foreign jobs: what is found is told apart from what to do") {
  const Scratch scratch;
  scratch.write("binlog.2", "jobs");
  const auto found = find_foreign_jobs(scratch.path(""));
  REQUIRE(found);
  CHECK(found->seen.ends_with(" holds jobs stored by beanstalkd (binlog.2)"));
  CHECK(found->owner == "beanstalkd");
  CHECK(found->into.ends_with("-millrace"));
  CHECK(found->command.ends_with(" --into " + found->into));
}

TEST_CASE("foreign jobs: other files and a missing directory are accepted") {
  const Scratch scratch;
  scratch.write("00000000000000000000.log", "");
  scratch.write("my-binlog.3", "");
  CHECK(refuse_foreign_jobs(scratch.path("")));
  CHECK(refuse_foreign_jobs(scratch.path("missing")));
  CHECK_FALSE(find_foreign_jobs(scratch.path("missing")));
}

}  // namespace millrace::server
