#include "server/check.hpp"

#include "core/record.hpp"
#include "journal/file_journal.hpp"
#include "journal/file_system.hpp"
#include "server/scratch.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// A journal with these batches, closed as a server that ends does.
void write_journal(const std::string& directory, const std::vector<std::string>& batches) {
  journal::PosixFileSystem files;
  auto journal = journal::FileJournal::open(files, directory, {});
  REQUIRE(journal);
  REQUIRE((*journal)->replay([](std::string_view, Lsn) -> Outcome<Done> { return Done{}; }));
  for (const std::string& batch : batches) (*journal)->append(batch);
}

std::string put_batch(JobId id, std::string_view queue) {
  JobAdded job{.id = id, .queue = queue, .ttr_s = 60, .body = "x"};
  job.fields.state = JobState::kReady;
  job.fields.sequence = id;
  std::string batch;
  encode(job, batch);
  return batch;
}

}  // namespace

TEST_CASE("check: tells the jobs of each queue") {
  const Scratch scratch;
  write_journal(scratch.path("data"), {put_batch(1, "mail"), put_batch(2, "mail")});
  const auto report = check_journal(scratch.path("data"));
  REQUIRE(report);
  CHECK(report->find("batches: 2\n") != std::string::npos);
  CHECK(report->find("queue mail: 2 ready, 0 reserved, 0 delayed, 0 dead\n") != std::string::npos);
  CHECK(report->ends_with("no damage\n"));
}

TEST_CASE("check: a batch that is no sequence of records is a problem") {
  const Scratch scratch;
  write_journal(scratch.path("data"), {"\x7f"});
  CHECK_FALSE(check_journal(scratch.path("data")));
}

TEST_CASE("check: a directory without a journal is a problem") {
  const Scratch scratch;
  CHECK_FALSE(check_journal(scratch.path("")));
  CHECK_FALSE(check_journal(scratch.path("nowhere")));
}

}  // namespace millrace::server
