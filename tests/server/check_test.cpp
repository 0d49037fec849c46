#include "server/check.hpp"

#include <filesystem>
#include <fstream>

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
  for (const std::string& batch : batches) {
    (*journal)->append(batch);
    (*journal)->sync();
  }
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

namespace {

/// The path of the directory's only segment.
std::string only_segment(const std::string& directory) {
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() == ".log") return entry.path();
  }
  return {};
}

void flip_byte(const std::string& path, std::streamoff offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(offset);
  const int byte = file.get();
  file.seekp(offset);
  file.put(static_cast<char>(byte ^ 0x10));
}

bool has(const Outcome<std::string>& report, std::string_view line) {
  return report && report->find(std::string(line) + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("salvage: what is whole is copied, and what is not is told") {
  const Scratch scratch;
  write_journal(scratch.path("data"),
                {put_batch(1, "mail"), put_batch(2, "mail"), put_batch(3, "mail")});
  // The first frame's payload: what comes behind it was durable, so a server does not start.
  flip_byte(only_segment(scratch.path("data")), 40 + 24 + 3);
  REQUIRE_FALSE(check_journal(scratch.path("data")));
  const auto report = salvage_journal(scratch.path("data"), scratch.path("saved"));
  REQUIRE_MESSAGE(report, report.error().text);
  CHECK(has(report, "queue mail: 2 ready, 0 reserved, 0 delayed, 0 dead"));
  CHECK(report->starts_with("lost: "));
  CHECK(has(check_journal(scratch.path("saved")), "batches: 2"));
  CHECK_FALSE(check_journal(scratch.path("data")));
}

TEST_CASE("salvage: of a whole journal nothing is lost") {
  const Scratch scratch;
  write_journal(scratch.path("data"), {put_batch(1, "mail"), put_batch(2, "post")});
  const auto report = salvage_journal(scratch.path("data"), scratch.path("saved"));
  REQUIRE_MESSAGE(report, report.error().text);
  CHECK(has(report, "batches: 2"));
  CHECK(report->find("lost") == std::string::npos);
}

TEST_CASE("salvage: a directory that holds something is left alone") {
  const Scratch scratch;
  write_journal(scratch.path("data"), {put_batch(1, "mail")});
  write_journal(scratch.path("other"), {put_batch(2, "mail")});
  CHECK_FALSE(salvage_journal(scratch.path("data"), scratch.path("other")));
  CHECK_FALSE(back_up_journal(scratch.path("data"), scratch.path("other")));
  CHECK(has(check_journal(scratch.path("other")), "batches: 1"));
}

TEST_CASE("backup: a journal in use is copied as it stands, and goes on") {
  const Scratch scratch;
  journal::PosixFileSystem files;
  auto journal = journal::FileJournal::open(files, scratch.path("data"), {.segment_bytes = 4096});
  REQUIRE(journal);
  REQUIRE((*journal)->replay([](std::string_view, Lsn) -> Outcome<Done> { return Done{}; }));
  JobId id = 1;
  for (; id <= 300; ++id) (*journal)->append(put_batch(id, "mail"));
  (*journal)->sync();
  const auto report = back_up_journal(scratch.path("data"), scratch.path("copy"));
  CHECK(has(report, "queue mail: 300 ready, 0 reserved, 0 delayed, 0 dead"));
  for (; id <= 600; ++id) (*journal)->append(put_batch(id, "mail"));
  (*journal)->sync();
  (*journal)->trim((*journal)->extent().oldest_end);
  (*journal)->sync();
  CHECK(has(check_journal(scratch.path("copy")), "batches: 300"));
  // A server that starts on the copy changes nothing of the original.
  write_journal(scratch.path("copy"), {put_batch(1000, "mail")});
  (*journal).reset();
  CHECK(has(check_journal(scratch.path("data")), "torn tail: none"));
}

}  // namespace millrace::server
