#include "tools/doctor/directory_checks.hpp"

#include <sys/sysmacros.h>

#include "core/model/codec.hpp"
#include "support/doctest.hpp"
#include "support/scratch.hpp"
#include "tools/directory/check.hpp"
#include "tools/directory/stored_journal.hpp"

namespace millrace::tools {
namespace {

Finding finding_of_journal(const std::string& directory) {
  Findings found;
  REQUIRE(check_directory_of_data(directory, found));
  for (Finding& finding : found) {
    if (std::string_view(finding.check) == "journal") return finding;
  }
  FAIL("nothing is said of the journal");
  return {.check = "", .seen = {}};
}

}  // namespace

TEST_CASE("directory: jobs whose bodies could not be read are named") {
  const Scratch scratch;
  JobAdded job{.id = 7, .queue = "mail", .body = "x"};
  job.fields.ttr_s = 60;
  job.fields.state = JobState::kDead;
  job.fields.marks = job_marks::kBodyUnreadable;
  std::string batch;
  encode(job, batch);
  write_journal(scratch.path("data"), {batch});
  const Finding finding = finding_of_journal(scratch.path("data"));
  CHECK(finding.seen == "jobs whose bodies could not be read; job 7, queue mail");
  CHECK(finding.to_do == kUnreadableAdvice);
}

TEST_CASE("directory: damage in the middle is found, and what to do about it") {
  const Scratch scratch;
  write_journal(scratch.path("data"), {put_batch(1, "mail"), put_batch(2, "mail")});
  CHECK(finding_of_journal(scratch.path("data")).is_well());
  flip_byte(segments(scratch.path("data")).front(), 40 + 24 + 3);
  const Finding finding = finding_of_journal(scratch.path("data"));
  CHECK(finding.seen.ends_with(
      ".log is damaged at offset 40: a frame that was already durable is damaged"));
  CHECK(finding.to_do.starts_with("restore a backup, or copy what is whole with `millrace check "));
}

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
