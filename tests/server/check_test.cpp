#include "server/check.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

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

namespace {

/// The paths of the directory's segments, oldest first.
std::vector<std::string> segments(const std::string& directory) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() == ".log") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// A journal of one process with several segments, and 100 jobs.
void write_segments(const std::string& directory) {
  journal::PosixFileSystem files;
  auto journal = journal::FileJournal::open(files, directory, {.segment_bytes = 1024});
  REQUIRE(journal);
  REQUIRE((*journal)->replay([](std::string_view, Lsn) -> Outcome<Done> { return Done{}; }));
  for (JobId id = 1; id <= 100; ++id) {
    (*journal)->append(put_batch(id, "mail"));
    (*journal)->sync();
  }
}

constexpr std::string_view kAll = "queue mail: 100 ready, 0 reserved, 0 delayed, 0 dead";

}  // namespace

TEST_CASE("salvage: a segment whose header is damaged is read with the salt of a later one") {
  const Scratch scratch;
  write_segments(scratch.path("data"));
  const std::string first = segments(scratch.path("data")).front();
  flip_byte(first, 3);
  flip_byte(first, 26);  // the salt
  const auto report = salvage_journal(scratch.path("data"), scratch.path("saved"));
  REQUIRE_MESSAGE(report, report.error().text);
  CHECK(has(report, "lost: 00000000000000000000.log: bytes 0 to 40 are damaged or torn"));
  CHECK(has(report, kAll));
}

TEST_CASE("salvage: of a damaged header the salt may be whole") {
  const Scratch scratch;
  write_journal(scratch.path("data"), {put_batch(1, "mail"), put_batch(2, "mail")});
  flip_byte(only_segment(scratch.path("data")), 3);
  const auto report = salvage_journal(scratch.path("data"), scratch.path("saved"));
  REQUIRE_MESSAGE(report, report.error().text);
  CHECK(has(report, "queue mail: 2 ready, 0 reserved, 0 delayed, 0 dead"));
}

TEST_CASE("salvage: a segment without any header is lost, and its bytes are told") {
  const Scratch scratch;
  write_journal(scratch.path("data"), {put_batch(1, "mail")});
  const std::string path = only_segment(scratch.path("data"));
  flip_byte(path, 26);
  std::ofstream(scratch.path("data") + "/" + "00000000000001000000.log") << "nothing";
  const auto report = salvage_journal(scratch.path("data"), scratch.path("saved"));
  REQUIRE_MESSAGE(report, report.error().text);
  CHECK(report->starts_with("lost: 00000000000000000000.log: bytes 0 to "));
}

TEST_CASE("salvage: missing segments are told") {
  const Scratch scratch;
  write_segments(scratch.path("data"));
  const std::vector<std::string> paths = segments(scratch.path("data"));
  const auto name = [](const std::string& path) {
    return std::filesystem::path(path).filename().string();
  };
  std::filesystem::remove(paths.front());
  std::filesystem::remove(paths.back());
  const auto report = salvage_journal(scratch.path("data"), scratch.path("saved"));
  REQUIRE_MESSAGE(report, report.error().text);
  CHECK(has(report, "lost: positions 0 to " + std::to_string(std::stoull(name(paths[1]))) +
                        " are in no file"));
  CHECK(has(report, "lost: " + name(paths.back()) + " and what follows is in no file"));
}

TEST_CASE("salvage: a log of another version is refused") {
  const Scratch scratch;
  write_journal(scratch.path("data"), {put_batch(1, "mail")});
  flip_byte(only_segment(scratch.path("data")), 9);
  const auto report = salvage_journal(scratch.path("data"), scratch.path("saved"));
  REQUIRE_FALSE(report);
  CHECK(report.error().text.find("has journal format 4097") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(scratch.path("saved")));
}

TEST_CASE("salvage, backup: not into the journal's own directory, by whatever path") {
  const Scratch scratch;
  const std::string data = scratch.path("data");
  write_journal(data, {put_batch(1, "mail")});
  std::filesystem::create_directory(data + "/inside");
  std::filesystem::create_directory_symlink(data + "/inside", scratch.path("link"));
  for (const std::string& target :
       {data, data + "/new", data + "/inside", scratch.path("link"), scratch.path("link/new"),
        scratch.path("nowhere/../data/new"), data + "/../data/new"}) {
    CAPTURE(target);
    const auto saved = salvage_journal(data, target);
    REQUIRE_FALSE(saved);
    CHECK(saved.error().text == target + " must not lie in " + data);
    const auto copied = back_up_journal(data, target);
    REQUIRE_FALSE(copied);
    CHECK(copied.error().text == target + " must not lie in " + data);
  }
  CHECK(std::filesystem::is_empty(data + "/inside"));
}

TEST_CASE("backup: of a damaged journal there is none, and the damage is named") {
  const Scratch scratch;
  const std::string data = scratch.path("data");
  const std::string copy = scratch.path("copy");
  write_segments(data);
  SUBCASE("in a frame of the first segment") {
    flip_byte(segments(data).front(), 200);
  }
  SUBCASE("in a frame of the last segment") {
    flip_byte(segments(data).back(), 70);
  }
  SUBCASE("in a header") {
    flip_byte(segments(data).back(), 20);
  }
  SUBCASE("a segment is missing") {
    std::filesystem::remove(segments(data)[1]);
  }
  const auto report = back_up_journal(data, copy);
  REQUIRE_FALSE(report);
  CHECK(report.error().text == check_journal(data).error().text);
  CHECK_FALSE(std::filesystem::exists(copy));
  std::filesystem::create_directory(copy);
  CHECK_FALSE(back_up_journal(data, copy));
  CHECK(std::filesystem::is_empty(copy));
}

TEST_CASE("backup: what cannot be copied leaves nothing behind") {
  const Scratch scratch;
  std::filesystem::create_directory(scratch.path("empty"));
  CHECK_FALSE(back_up_journal(scratch.path("empty"), scratch.path("copy")));
  CHECK_FALSE(back_up_journal(scratch.path("nowhere"), scratch.path("copy")));
  CHECK_FALSE(std::filesystem::exists(scratch.path("copy")));
}

}  // namespace millrace::server
