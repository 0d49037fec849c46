#include "tools/directory/check.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include "core/model/codec.hpp"
#include "support/doctest.hpp"
#include "support/scratch.hpp"
#include "tools/directory/stored_journal.hpp"

namespace millrace::tools {
namespace {

std::string job_batch(JobId id, JobState state, std::uint8_t marks = 0,
                      const std::string& message = "") {
  JobAdded job{.id = id, .queue = "mail", .body = "x"};
  job.fields.ttr_s = 60;
  job.fields.state = state;
  job.fields.marks = marks;
  if (!message.empty()) {
    job.fields.edit_history().failure = Failure{.errtype = "BodyUnreadable", .message = message};
  }
  job.fields.sequence = id;
  job.fields.when = Time{} + std::chrono::hours(id);
  std::string batch;
  encode(job, batch);
  return batch;
}

/// Where a journal whose batches are all as long as this one holds the first bytes of a segment's
/// n-th.
std::streamoff frame_at(std::size_t n) {
  const std::size_t payload = put_batch(1, "mail").size();
  return static_cast<std::streamoff>(40 + n * ((24 + payload + 7) / 8 * 8));
}

}  // namespace

TEST_CASE("check: tells segments, records, and the jobs of each queue by state") {
  const Scratch scratch;
  write_journal(scratch.path("data"),
                {job_batch(1, JobState::kReady) + job_batch(2, JobState::kDead),
                 job_batch(3, JobState::kScheduled), job_batch(4, JobState::kRetrying)});
  const auto report = check_journal(scratch.path("data"));
  REQUIRE(report);
  const auto size = std::filesystem::file_size(segments(scratch.path("data")).front());
  CHECK(has(report, "segment 00000000000000000000.log: begins at 0, " + std::to_string(size) +
                        " bytes, 3 writes, 4 records, whole"));
  CHECK(has(report, "writes: 3"));
  CHECK(has(report, "records: 4"));
  CHECK(has(report, "torn tail: none"));
  CHECK(has(report, "queue mail: 1 scheduled, 1 ready, 0 reserved, 1 retrying, 1 dead"));
  CHECK(report->text.ends_with("no damage\n"));
  CHECK_FALSE(report->damage);
}

TEST_CASE("check: names jobs whose bodies could not be read, and where these are") {
  const Scratch scratch;
  const std::string place = "body unreadable: /d/0.log is damaged at offset 40: it\x1b";
  write_journal(scratch.path("data"), {job_batch(1, JobState::kDead, job_marks::kBodyUnreadable,
                                                 place + "; before that, E: why"),
                                       job_batch(2, JobState::kDead)});
  const auto report = check_journal(scratch.path("data"));
  CHECK(has(report,
            "warning: 1 job whose body could not be read: retry these jobs; if a retry is "
            "refused, push the job again and delete the dead one"));
  const std::string line =
      "job 1, queue mail: body unreadable: /d/0.log is damaged at offset 40: it\\x1b";
  CHECK(has(report, "unreadable: " + line));
  CHECK(report->unreadable == std::vector{line});
}

TEST_CASE("check: of many jobs whose bodies could not be read it names the first, and counts all") {
  const Scratch scratch;
  std::string batch;
  for (JobId id = 1; id <= kUnreadableNamed + 3; ++id) {
    batch += job_batch(id, JobState::kDead, job_marks::kBodyUnreadable);
  }
  write_journal(scratch.path("data"), {batch});
  const auto report = check_journal(scratch.path("data"));
  CHECK(has(report, "unreadable: job 20, queue mail"));
  CHECK(has(report, "unreadable: and 3 more"));
  CHECK(report->unreadable.size() == kUnreadableNamed + 1);
}

TEST_CASE("check: after a damage it continues, and names all") {
  const Scratch scratch;
  const std::string data = scratch.path("data");
  write_segments(data);
  const std::vector<std::string> paths = segments(data);
  REQUIRE(paths.size() > 4);
  flip_byte(paths[0], frame_at(1) + 30);
  flip_byte(paths[0], frame_at(3) + 30);
  flip_byte(paths[2], 36);  // the header
  std::filesystem::remove(paths[3]);
  const auto report = check_journal(data);
  REQUIRE(report);
  const auto bytes = [](std::size_t n) {
    return std::to_string(frame_at(n)) + " to " + std::to_string(frame_at(n + 1));
  };
  const std::string frame = ": a frame that was already durable is damaged";
  CHECK(has(report, "damage: " + name_of(paths[0]) + ", bytes " + bytes(1) + frame));
  CHECK(has(report, "damage: " + name_of(paths[0]) + ", bytes " + bytes(3) + frame));
  CHECK(has(report,
            "damage: " + name_of(paths[2]) + ", bytes 0 to 40: the segment header is not whole"));
  CHECK(report->text.find("the log breaks off before " + name_of(paths[4])) != std::string::npos);
  CHECK(report->text.ends_with("damages: 4\n"));
  REQUIRE(report->damage);
  CHECK(report->damage->find(paths[0] + " is damaged at offset " + std::to_string(frame_at(1))) !=
        std::string::npos);
}

TEST_CASE("check: each segment is whole, damaged at an offset, or torn") {
  const Scratch scratch;
  const std::string data = scratch.path("data");
  write_segments(data);
  const std::vector<std::string> paths = segments(data);
  forget_end(data);
  flip_byte(paths[0], frame_at(2) + 30);
  const auto size = std::filesystem::file_size(paths.back());
  std::filesystem::resize_file(paths.back(), size - 3);
  const auto report = check_journal(data);
  REQUIRE(report);
  const std::string& text = report->text;
  CHECK(text.find(" records, damaged at offset " + std::to_string(frame_at(2)) + "\n") !=
        std::string::npos);
  CHECK(text.find(" records, whole\n") != std::string::npos);
  CHECK(text.find(" records, torn at offset ") != std::string::npos);
  CHECK(text.find("torn tail: ") != std::string::npos);
  CHECK(text.ends_with("damages: 1\n"));
}

TEST_CASE("check: segments of one server between those of another are told") {
  const Scratch scratch;
  const std::string data = scratch.path("data");
  write_segments(data, 1);
  write_segments(data, 2);
  write_segments(data, 3);
  CHECK(check_journal(data)->text.find("two servers") == std::string::npos);
  write_segments(data, 2);
  const auto report = check_journal(data);
  REQUIRE(report);
  CHECK_FALSE(report->damage);
  CHECK(report->text.find("warning: two servers wrote at the same time: ") != std::string::npos);
}

TEST_CASE("check: a log that was left in order has no torn tail") {
  const Scratch scratch;
  const std::string data = scratch.path("data");
  write_segments(data);
  const std::string last = segments(data).back();
  const auto size = std::filesystem::file_size(last);
  std::filesystem::resize_file(last, size - 3);
  const auto report = check_journal(data);
  REQUIRE(report);
  REQUIRE(report->damage);
  CHECK(report->text.find("as it was when the server stopped, are missing") != std::string::npos);
  CHECK(report->text.ends_with("damages: 1\n"));
}

TEST_CASE("check: a torn tail is not damage") {
  const Scratch scratch;
  write_journal(scratch.path("data"), {put_batch(1, "mail"), put_batch(2, "mail")});
  forget_end(scratch.path("data"));
  const std::string path = segments(scratch.path("data")).front();
  flip_byte(path, frame_at(1) + 30);
  const auto report = check_journal(scratch.path("data"));
  REQUIRE(report);
  CHECK_FALSE(report->damage);
  CHECK(has(report, "queue mail: 0 scheduled, 1 ready, 0 reserved, 0 retrying, 0 dead"));
}

TEST_CASE("check: segments missing at the ends are damage") {
  const Scratch scratch;
  const std::string data = scratch.path("data");
  write_segments(data);
  const std::vector<std::string> paths = segments(data);
  std::filesystem::remove(paths.front());
  std::filesystem::remove(paths.back());
  const auto report = check_journal(data);
  CHECK(has(report, "damage: " + name_of(paths.front()) + ": it is missing"));
  CHECK(has(report, "damage: " + name_of(paths.back()) + ": it is missing"));
}

TEST_CASE("check: a batch that is not a sequence of records is a damage") {
  const Scratch scratch;
  write_journal(scratch.path("data"), {"\x7f", put_batch(1, "mail")});
  const auto report = check_journal(scratch.path("data"));
  CHECK(has(report,
            "damage: 00000000000000000000.log, bytes 40 to 72: a batch that is not a sequence of "
            "records: a record of an unknown kind"));
  CHECK(has(report, "queue mail: 0 scheduled, 1 ready, 0 reserved, 0 retrying, 0 dead"));
}

TEST_CASE("check: a missing extent is warned about") {
  const Scratch scratch;
  write_journal(scratch.path("data"), {put_batch(1, "mail")});
  CHECK(check_journal(scratch.path("data"))->text.find("warning") == std::string::npos);
  std::filesystem::remove(scratch.path("data") + "/extent");
  const auto report = check_journal(scratch.path("data"));
  REQUIRE(report);
  CHECK(report->text.find("warning: the file `extent` is missing or damaged") != std::string::npos);
  CHECK_FALSE(report->damage);
}

TEST_CASE("check: a directory without a journal is a problem") {
  const Scratch scratch;
  CHECK_FALSE(check_journal(scratch.path("")));
  CHECK_FALSE(check_journal(scratch.path("nowhere")));
}

}  // namespace millrace::tools
