#include "tools/backup/restore.hpp"

#include <fcntl.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "journal/posix/descriptor.hpp"
#include "tools/backup/backup_fixture.hpp"
#include "tools/backup/segment_batches.hpp"
#include "tools/backup/tar.hpp"
#include "tools/directory/marks.hpp"
#include "tools/directory/places.hpp"
#include "tools/import/import.hpp"

namespace millrace::tools {
namespace {

/// The text of the problem; empty: there is none.
std::string restore_refusal(const Outcome<JournalReport>& report) {
  return report ? "" : report.error().text;
}

bool has_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The files of a backup as a stream, in a file.
std::string stream_of(const Backed& backed, const std::vector<std::string>& names) {
  const std::string path = backed.scratch.path("stream");
  const journal::Descriptor file(::open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600));
  TarWriter out(file.get(), path);
  for (const std::string& name : names) {
    const std::string from = backed.copy + "/" + name;
    REQUIRE(out.add(name, *read_start(from, std::filesystem::file_size(from))));
  }
  REQUIRE(out.end());
  return path;
}

std::vector<std::string> segment_names_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const std::string& path : segments(directory)) names.push_back(name_of(path));
  return names;
}

}  // namespace

TEST_CASE("restore: a backup becomes a journal, and a server goes on with it") {
  Backed backed;
  backed.log.put(100);
  REQUIRE(backed.grow());
  const auto restored = backed.restore();
  CHECK(has(restored, mail_ready(100)));
  GrowingLog log(backed.scratch.path("new"));
  log.put(1);
  log.close();
  CHECK(has(check_journal(backed.scratch.path("new")), "torn tail: none"));
  CHECK(has(backed.restore({}, "again"), mail_ready(100)));
}

TEST_CASE("restore: it stops at a time, in whatever segment") {
  Backed backed;
  backed.log.put(10);
  const Time first = backed.log.now;
  REQUIRE(backed.grow());
  backed.log.put(300);
  REQUIRE(backed.grow());
  backed.log.put(5);
  REQUIRE(backed.grow());
  for (const int later : {0, 1, 50, 150, 299, 300, 303}) {
    CAPTURE(later);
    const std::string to = "until" + std::to_string(later);
    const Time until = first + std::chrono::seconds(later);
    CHECK(has(backed.restore(until, to), mail_ready(10 + later)));
    CHECK(has(backed.restore(until + 999ms, to + "b"), mail_ready(10 + later)));
  }
}

TEST_CASE("restore: a time that is not in the backup is refused, and those that are are told") {
  Backed backed;
  backed.log.put(10);
  const Time first = backed.log.now;
  REQUIRE(backed.grow());
  backed.log.put(10);
  REQUIRE(backed.grow());
  const std::string before = restore_refusal(backed.restore(first - 1ms));
  CHECK(has_text(before, backed.copy +
                             " cannot be restored until 2019-12-20T00:00:09.999Z: it has the "
                             "times from 2019-12-20T00:00:10Z to 20"));
  CHECK(has_text(restore_refusal(backed.restore(kNever)), " cannot be restored until "));
  CHECK_FALSE(std::filesystem::exists(backed.scratch.path("new")));
}

TEST_CASE("restore: of several backups the last one of the log counts, whatever the clock says") {
  Backed backed;
  const Time late = backed.log.now;
  // A backup counts as made when its last batch was, where that is later than now.
  backed.log.now += std::chrono::hours(24 * 365 * 100);
  backed.log.put(10);
  REQUIRE(backed.grow());
  backed.log.now = late;
  backed.log.put(10);
  const std::string next = backed.scratch.path("next");
  REQUIRE(back_up_journal({.directory = backed.data, .to = next, .since = backed.copy}));
  const auto both =
      restore_journal({.from = {backed.copy, next}, .to = backed.scratch.path("both")});
  CHECK(has(both, mail_ready(20)));
}

TEST_CASE("restore: where the clock was set back, backups in between change nothing") {
  Backed backed;
  const std::string rare = backed.scratch.path("rare");
  const auto grow_rare = [&] {
    REQUIRE(back_up_journal({.directory = backed.data, .to = rare, .since = rare}));
  };
  // A backup counts as made when its last batch was, where that is later than now.
  backed.log.now += std::chrono::hours(24 * 365 * 100);
  const Time begin = backed.log.now;
  backed.log.put(1);
  REQUIRE(backed.grow());
  grow_rare();
  backed.log.put(4);
  backed.log.now -= 6s;
  backed.log.put(2);
  REQUIRE(backed.grow());
  backed.log.put(10);
  REQUIRE(backed.grow());
  grow_rare();
  const std::string report = backed.restore(begin + 4s, "told")->text;
  CHECK(report.find("warning: the clock was set back: ") != std::string::npos);
  CHECK(backed.restore({}, "all")->text.find("warning") == std::string::npos);
  for (int second = 1; second <= 4; ++second) {
    CAPTURE(second);
    const Time until = begin + std::chrono::seconds(second);
    const std::string name = std::to_string(second);
    CHECK(has(backed.restore(until, "often" + name), mail_ready(second)));
    CHECK(has(restore_journal({.from = {rare}, .to = backed.scratch.path(name), .until = until}),
              mail_ready(second)));
  }
}

TEST_CASE("restore: of two backups that end together the one with a history counts") {
  Backed backed;
  backed.log.now += std::chrono::hours(24 * 365 * 100);
  backed.log.put(5);
  REQUIRE(backed.grow());
  const Time early = backed.log.now;
  backed.log.put(5);
  REQUIRE(backed.grow());
  const std::string full = backed.scratch.path("full");
  REQUIRE(back_up_journal({.directory = backed.data, .to = full}));
  CHECK(has(restore_journal(
                {.from = {backed.copy, full}, .to = backed.scratch.path("a"), .until = early}),
            mail_ready(5)));
  CHECK(has(restore_journal(
                {.from = {full, backed.copy}, .to = backed.scratch.path("b"), .until = early}),
            mail_ready(5)));
}

TEST_CASE(
    "restore: of two backups that end together the later the later one counts, in any order") {
  Backed backed;
  backed.log.put(10);
  REQUIRE(backed.grow());
  const std::string next = backed.scratch.path("next");
  REQUIRE(back_up_journal({.directory = backed.data, .to = next, .since = backed.copy}));
  const Time until = read_manifest(next + "/manifest")->points.back().at;
  int number = 0;
  for (const auto& from : {std::vector{backed.copy, next}, std::vector{next, backed.copy}}) {
    const std::string to = backed.scratch.path("both" + std::to_string(++number));
    CHECK(has(restore_journal({.from = from, .to = to, .until = until}), mail_ready(10)));
  }
}

TEST_CASE("restore: where the clock was set back, the first of two equal times counts") {
  Backed backed;
  backed.log.put(10);
  REQUIRE(backed.grow());
  backed.log.put(5);
  const Time twice = backed.log.now;
  backed.log.put(5);
  backed.log.now = twice - 3s;
  backed.log.put(10);
  REQUIRE(backed.grow());
  CHECK(has(backed.restore(twice), mail_ready(15)));
}

TEST_CASE("restore: what does not match its checksum is refused, by name") {
  Backed backed;
  backed.log.put(100);
  REQUIRE(back_up_journal({.directory = backed.data, .to = backed.copy}));
  // Not the file that it shares with the journal.
  const std::string path = segments(backed.copy).back();
  std::string expected = path + " is not the file that " + backed.copy + " lists";
  SUBCASE("a byte is another") {
    flip_byte(path, 50);
  }
  SUBCASE("a part is missing") {
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
    expected = path + " is shorter than the file that " + backed.copy + " lists";
  }
  SUBCASE("all of it is missing") {
    std::filesystem::remove(path);
    expected = name_of(path) + " is missing, which " + backed.copy + " needs";
  }
  CHECK(has_text(restore_refusal(backed.restore()), expected));
  CHECK_FALSE(std::filesystem::exists(backed.scratch.path("new")));
}

TEST_CASE("restore: a manifest that was changed is refused") {
  Backed backed;
  backed.log.put(10);
  REQUIRE(backed.grow());
  const std::string path = backed.copy + "/" + kManifestName;
  std::string text = *read_start(path, std::filesystem::file_size(path));
  SUBCASE("a digit") {
    text[text.find("point") + 8] ^= 1;
    write_over(path, text);
    CHECK(has_text(restore_refusal(backed.restore()), path + " does not match its own checksum"));
  }
  SUBCASE("half of it") {
    write_over(path, text.substr(0, text.size() / 2));
    CHECK(has_text(restore_refusal(backed.restore()), path + " does not match its own checksum"));
  }
  SUBCASE("of a newer program") {
    write_over(path, "millrace-backup 3" + text.substr(text.find('\n')));
    CHECK(restore_refusal(backed.restore()) ==
          path + " has backup format 3, and this program reads formats 1 to 2");
  }
  SUBCASE("another file") {
    write_over(path, "hello");
    CHECK(restore_refusal(backed.restore()) == path + " is not the manifest of a backup");
  }
  SUBCASE("none") {
    std::filesystem::remove(path);
    CHECK(has_text(restore_refusal(backed.restore()), path + " is not there"));
  }
}

TEST_CASE("restore: a directory that has something is left alone") {
  Backed backed;
  backed.log.put(10);
  REQUIRE(backed.grow());
  write_journal(backed.scratch.path("new"), {put_batch(1, "mail")});
  CHECK(restore_refusal(backed.restore()) ==
        backed.scratch.path("new") + " is not empty; restore to a new directory");
  CHECK(has(check_journal(backed.scratch.path("new")), mail_ready(1)));
  const std::string inside = backed.copy + "/new";
  CHECK(restore_refusal(restore_journal({.from = {backed.copy}, .to = inside})) ==
        inside + " must not be inside " + backed.copy);
}

TEST_CASE("restore: a fresh volume is a new directory") {
  Backed backed;
  backed.log.put(10);
  REQUIRE(backed.grow());
  const std::string volume = backed.scratch.path("new");
  std::filesystem::create_directories(volume + "/lost+found");
  CHECK(backed.restore());
  CHECK(std::filesystem::is_directory(volume + "/lost+found"));
}

TEST_CASE("restore: a file named as what a volume keeps is no room for a restore") {
  Backed backed;
  backed.log.put(10);
  REQUIRE(backed.grow());
  const std::string volume = backed.scratch.path("new");
  std::filesystem::create_directory(volume);
  std::ofstream(volume + "/lost+found") << "mine";
  CHECK(restore_refusal(backed.restore()) == volume + " is not empty; restore to a new directory");
}

TEST_CASE("restore: one that was interrupted is not served, and begins again") {
  Backed backed;
  backed.log.put(100);
  REQUIRE(backed.grow());
  const std::string to = backed.scratch.path("new");
  std::filesystem::create_directory(to);
  write_over(to + "/restore.part", "");
  CHECK_FALSE(refuse_unfinished_restore(to));
  write_over(to + "/restore", "");
  std::filesystem::copy(segments(backed.copy).front(), to);
  CHECK(refuse_unfinished_restore(to).error().text ==
        "a restore into " + to + " has not ended: run it again");
  CHECK_FALSE(back_up_journal({.directory = to, .to = backed.scratch.path("other")}));
  CHECK(import_jobs({.beanstalkd = backed.copy, .into = to}).error().text ==
        "a restore into " + to + " has not ended: run it again");
  CHECK(check_journal(to)->text.find("\nwarning: a restore into ") != std::string::npos);
  const auto restored = backed.restore();
  CHECK(has(restored, mail_ready(100)));
  CHECK(restored->text.find("warning") == std::string::npos);
  CHECK(refuse_unfinished_restore(to));
}

TEST_CASE("restore: a stream is as good as the directory") {
  Backed backed;
  backed.log.put(100);
  REQUIRE(backed.grow());
  std::vector<std::string> names = segment_names_in(backed.copy);
  // One that was begun again, as when the server removes a segment meanwhile.
  names.insert(names.begin(), names.front());
  names.emplace_back(kManifestName);
  const std::string to = backed.scratch.path("new");
  CHECK(has(restore_journal({.from = {stream_of(backed, names)}, .to = to}), mail_ready(100)));
  CHECK_FALSE(std::filesystem::exists(to + "/from-0"));
}

TEST_CASE("restore: a stream that is not whole is refused") {
  Backed backed;
  backed.log.put(100);
  REQUIRE(backed.grow());
  std::vector<std::string> names = segment_names_in(backed.copy);
  std::string expected;
  std::string path;
  SUBCASE("without a manifest") {
    path = stream_of(backed, names);
    expected = path + " has no manifest: it is not a backup, or not a whole one";
  }
  SUBCASE("cut") {
    names.emplace_back(kManifestName);
    path = stream_of(backed, names);
    std::filesystem::resize_file(path, 5000);
    expected = path + " ends early, at offset 5000: the backup is not whole";
  }
  SUBCASE("of something else") {
    path = stream_of(backed, names);
    write_over(path, std::string(2000, 'x'));
    expected = path + " is not a backup: what is at offset 0 begins no file";
  }
  SUBCASE("with a file that another one is named in") {
    names.emplace_back(kManifestName);
    path = stream_of(backed, names);
    flip_byte(path, 700);
    expected = "/new/from-0/00000000000000000000.log is not the file that " + path + " lists";
  }
  const std::string to = backed.scratch.path("new");
  CHECK(has_text(restore_refusal(restore_journal({.from = {path}, .to = to})), expected));
  CHECK_FALSE(std::filesystem::exists(to));
}

TEST_CASE("restore: times are read with and without seconds") {
  CHECK(parse_until("1970-01-01T00:01Z") == Time{60s});
  CHECK(parse_until("1970-01-01T01:01:02.5+01:00") == Time{62500ms});
  for (const char* const text :
       {"", "10:00", "1970-01-01", "1970-01-01T00:01", "1970-01-01T00:0Z"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_until(text));
  }
}

}  // namespace millrace::tools
