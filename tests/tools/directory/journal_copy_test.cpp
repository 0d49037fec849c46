#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "journal/file/log_format.hpp"
#include "support/doctest.hpp"
#include "support/edited_log.hpp"
#include "support/scratch.hpp"
#include "tools/directory/check.hpp"
#include "tools/directory/stored_journal.hpp"

namespace millrace::tools {
namespace {

const std::string kAll = "queue mail: 0 scheduled, 100 ready, 0 reserved, 0 retrying, 0 dead";

bool is_whole(const std::string& directory) {
  const auto report = check_journal(directory);
  return report && !report->damage;
}

/// Makes the segment one of another version, with a header that is whole.
void set_version(const std::string& path, std::uint32_t version) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  std::string header(journal::kSegmentHeaderBytes, '\0');
  file.read(header.data(), static_cast<std::streamsize>(header.size()));
  header = journal::with_version(std::move(header), version);
  file.seekp(0);
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
}

}  // namespace

TEST_CASE("salvage: what is whole is copied, and what is not is told") {
  const Scratch scratch;
  write_journal(scratch.path("data"),
                {put_batch(1, "mail"), put_batch(2, "mail"), put_batch(3, "mail")});
  // The first frame's payload: what follows it was durable, so a server does not start.
  flip_byte(segments(scratch.path("data")).front(), 40 + 24 + 3);
  REQUIRE_FALSE(is_whole(scratch.path("data")));
  const auto report = salvage_journal(scratch.path("data"), scratch.path("saved"));
  REQUIRE_MESSAGE(report, report.error().text);
  CHECK(has(report, "queue mail: 0 scheduled, 2 ready, 0 reserved, 0 retrying, 0 dead"));
  CHECK(has(report,
            "lost: 00000000000000000000.log, bytes 40 to 88: a frame that was already "
            "durable is damaged"));
  CHECK(report->damage->find(": 1 loss, listed in the report") != std::string::npos);
  CHECK(has(check_journal(scratch.path("saved")), "writes: 2"));
  CHECK_FALSE(is_whole(scratch.path("data")));
}

TEST_CASE("salvage: of a whole journal nothing is lost") {
  const Scratch scratch;
  write_journal(scratch.path("data"), {put_batch(1, "mail"), put_batch(2, "post")});
  const auto report = salvage_journal(scratch.path("data"), scratch.path("saved"));
  REQUIRE_MESSAGE(report, report.error().text);
  CHECK(has(report, "writes: 2"));
  CHECK(report->text.find("lost") == std::string::npos);
  CHECK_FALSE(report->damage);
}

TEST_CASE("check: a segment that cannot be read is not called damaged, and salvage leaves it out") {
  const Scratch scratch;
  write_segments(scratch.path("data"));
  const std::string last = segments(scratch.path("data")).back();
  std::filesystem::remove(last);
  std::filesystem::create_directory(last);
  const auto report = check_journal(scratch.path("data"));
  REQUIRE_FALSE(report);
  CHECK(report.error().text.find(last) != std::string::npos);
  const std::string name = std::filesystem::path(last).filename();
  CHECK(has(salvage_journal(scratch.path("data"), scratch.path("saved")),
            "lost: " + name + ": it cannot be read: " + last + " is not a file"));
}

TEST_CASE("salvage: a directory that holds something is left alone") {
  const Scratch scratch;
  write_journal(scratch.path("data"), {put_batch(1, "mail")});
  write_journal(scratch.path("other"), {put_batch(2, "mail")});
  CHECK_FALSE(salvage_journal(scratch.path("data"), scratch.path("other")));
  CHECK(has(check_journal(scratch.path("other")), "writes: 1"));
}

TEST_CASE("salvage: a fresh volume is a new directory, and stays as it is if nothing is copied") {
  const Scratch scratch;
  write_journal(scratch.path("data"), {put_batch(1, "mail")});
  const std::string volume = scratch.path("volume");
  std::filesystem::create_directories(volume + "/lost+found");
  CHECK_FALSE(salvage_journal(scratch.path("nothing"), volume));
  std::filesystem::create_directory(scratch.path("empty"));
  CHECK_FALSE(salvage_journal(scratch.path("empty"), volume));
  CHECK(std::filesystem::is_directory(volume + "/lost+found"));
  CHECK(salvage_journal(scratch.path("data"), volume));
  CHECK(std::filesystem::is_directory(volume + "/lost+found"));
  CHECK(has(check_journal(volume), "writes: 1"));
}

TEST_CASE("salvage: a segment whose header is damaged is read with the salt of a later one") {
  const Scratch scratch;
  write_segments(scratch.path("data"));
  const std::string first = segments(scratch.path("data")).front();
  flip_byte(first, 3);
  flip_byte(first, 26);  // the salt
  const auto report = salvage_journal(scratch.path("data"), scratch.path("saved"));
  REQUIRE_MESSAGE(report, report.error().text);
  CHECK(has(report,
            "lost: 00000000000000000000.log, bytes 0 to 40: the segment header is not whole"));
  CHECK(has(report, kAll));
}

TEST_CASE("salvage: of a damaged header the salt may be whole") {
  const Scratch scratch;
  write_journal(scratch.path("data"), {put_batch(1, "mail"), put_batch(2, "mail")});
  flip_byte(segments(scratch.path("data")).front(), 3);
  const auto report = salvage_journal(scratch.path("data"), scratch.path("saved"));
  REQUIRE_MESSAGE(report, report.error().text);
  CHECK(has(report, "queue mail: 0 scheduled, 2 ready, 0 reserved, 0 retrying, 0 dead"));
}

TEST_CASE("salvage: a segment without any header is lost, and its bytes are told") {
  const Scratch scratch;
  write_journal(scratch.path("data"), {put_batch(1, "mail")});
  const std::string path = segments(scratch.path("data")).front();
  flip_byte(path, 26);
  std::ofstream(scratch.path("data") + "/" + "00000000000001000000.log") << "nothing";
  const auto report = salvage_journal(scratch.path("data"), scratch.path("saved"));
  REQUIRE_MESSAGE(report, report.error().text);
  const std::string& text = report->text;
  CHECK(text.starts_with("copy " + scratch.path("saved") + ":\n"));
  // The losses come last, after what is said of the copy.
  CHECK(text.find("no damage\nlost: 00000000000000000000.log, bytes 0 to ") != std::string::npos);
  CHECK(report->damage);
}

TEST_CASE("salvage: missing segments are told") {
  const Scratch scratch;
  write_segments(scratch.path("data"));
  const std::vector<std::string> paths = segments(scratch.path("data"));
  std::filesystem::remove(paths.front());
  std::filesystem::remove(paths.back());
  const auto report = salvage_journal(scratch.path("data"), scratch.path("saved"));
  REQUIRE_MESSAGE(report, report.error().text);
  CHECK(has(report, "lost: " + name_of(paths.front()) + ": it is missing"));
  CHECK(has(report, "lost: " + name_of(paths.back()) + ": it is missing"));
}

TEST_CASE("salvage: a torn tail, which nobody was told of, is no loss") {
  const Scratch scratch;
  write_segments(scratch.path("data"));
  forget_end(scratch.path("data"));
  const std::string last = segments(scratch.path("data")).back();
  std::filesystem::resize_file(last, std::filesystem::file_size(last) - 3);
  const auto report = salvage_journal(scratch.path("data"), scratch.path("saved"));
  REQUIRE_MESSAGE(report, report.error().text);
  CHECK_FALSE(report->damage);
  CHECK(has(report, "queue mail: 0 scheduled, 99 ready, 0 reserved, 0 retrying, 0 dead"));
}

TEST_CASE("salvage: a log of which a segment is of another version is refused") {
  const Scratch scratch;
  write_segments(scratch.path("data"));
  std::string path = segments(scratch.path("data"))[1];
  SUBCASE("as one in the middle") {}
  SUBCASE("as the last one") {
    path = segments(scratch.path("data")).back();
  }
  set_version(path, 2);
  const auto report = salvage_journal(scratch.path("data"), scratch.path("saved"));
  REQUIRE_FALSE(report);
  CHECK(report.error().text.find(path + " has journal format 2 (at offset 8), and this program "
                                        "reads format 1; nothing was changed: start the version") ==
        0);
  CHECK(check_journal(scratch.path("data")).error().text == report.error().text);
  CHECK_FALSE(std::filesystem::exists(scratch.path("saved")));
}

TEST_CASE("salvage: a version that was damaged is damage") {
  const Scratch scratch;
  write_segments(scratch.path("data"));
  flip_byte(segments(scratch.path("data"))[1], 9);
  const auto report = salvage_journal(scratch.path("data"), scratch.path("saved"));
  REQUIRE_MESSAGE(report, report.error().text);
  CHECK(has(report, kAll));
  CHECK(report->damage);
}

TEST_CASE("salvage: not into the journal's own directory, by whatever path") {
  const Scratch scratch;
  const std::string data = scratch.path("data");
  write_journal(data, {put_batch(1, "mail")});
  std::filesystem::create_directory(data + "/inside");
  std::filesystem::create_directory_symlink(data + "/inside", scratch.path("link"));
  for (const std::string& target :
       {data + "/new", data + "/inside", scratch.path("link"), scratch.path("link/new"),
        scratch.path("nowhere/../data/new"), data + "/../data/new"}) {
    CAPTURE(target);
    const auto saved = salvage_journal(data, target);
    REQUIRE_FALSE(saved);
    CHECK(saved.error().text == target + " must not be inside " + data);
  }
  CHECK(std::filesystem::is_empty(data + "/inside"));
}

}  // namespace millrace::tools
