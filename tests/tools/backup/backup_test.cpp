#include "tools/backup/backup.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "journal/file/file_system.hpp"
#include "journal/file/log_format.hpp"
#include "journal/file_journal.hpp"
#include "support/doctest.hpp"
#include "support/scratch.hpp"
#include "tools/backup/backup_files.hpp"
#include "tools/backup/backup_fixture.hpp"
#include "tools/backup/restore.hpp"
#include "tools/directory/stored_journal.hpp"

namespace millrace::tools {
TEST_CASE("backup: a journal in use is copied as it is, and stays in use") {
  const Scratch scratch;
  journal::PosixFileSystem files;
  auto journal = journal::FileJournal::open(files, scratch.path("data"), {.segment_bytes = 4096});
  REQUIRE(journal);
  REQUIRE((*journal)->replay([](std::string_view, Lsn) -> Outcome<Done> { return Done{}; }));
  JobId id = 1;
  for (; id <= 300; ++id) (void)(*journal)->append(kOnlyEpoch, put_batch(id, "mail"));
  (*journal)->sync();
  const auto report =
      back_up_journal({.directory = scratch.path("data"), .to = scratch.path("copy")});
  CHECK(has(report, "queue mail: 0 scheduled, 300 ready, 0 reserved, 0 retrying, 0 dead"));
  for (; id <= 600; ++id) (void)(*journal)->append(kOnlyEpoch, put_batch(id, "mail"));
  (*journal)->sync();
  (*journal)->trim((*journal)->extent().oldest_end);
  (*journal)->sync();
  CHECK(has(check_journal(scratch.path("copy")), "writes: 300"));
  // A server that starts on the copy changes nothing of the original.
  write_journal(scratch.path("copy"), {put_batch(1000, "mail")});
  (*journal).reset();
  CHECK(has(check_journal(scratch.path("data")), "torn tail: none"));
}

TEST_CASE("backup: a segment that the server may go on with is not shared with it") {
  const Scratch scratch;
  write_segments(scratch.path("data"));
  // As after a crash between the making of a segment and its header: the one before is used.
  const std::filesystem::path last = segments(scratch.path("data")).back();
  const Lsn end = std::stoull(last.stem()) + std::filesystem::file_size(last);
  std::ofstream(last.parent_path() / journal::segment_name(end)).flush();
  REQUIRE(back_up_journal({.directory = scratch.path("data"), .to = scratch.path("copy")}));
  const std::vector<std::string> copied = segments(scratch.path("copy"));
  REQUIRE(copied.size() > 2);
  CHECK(std::filesystem::path(copied.back()).filename() == last.filename());
  CHECK(std::filesystem::hard_link_count(copied.back()) == 1);
  CHECK(std::filesystem::hard_link_count(copied[copied.size() - 2]) == 1);
  CHECK(std::filesystem::hard_link_count(copied.front()) == 2);
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
  const auto report = back_up_journal({.directory = data, .to = copy});
  REQUIRE_FALSE(report);
  CHECK(report.error().text == *check_journal(data)->damage);
  CHECK_FALSE(std::filesystem::exists(copy));
  std::filesystem::create_directory(copy);
  CHECK_FALSE(back_up_journal({.directory = data, .to = copy}));
  CHECK(std::filesystem::is_empty(copy));
}

TEST_CASE("backup: what cannot be copied leaves nothing behind") {
  const Scratch scratch;
  std::filesystem::create_directory(scratch.path("empty"));
  CHECK_FALSE(back_up_journal({.directory = scratch.path("empty"), .to = scratch.path("copy")}));
  CHECK_FALSE(back_up_journal({.directory = scratch.path("nowhere"), .to = scratch.path("copy")}));
  CHECK_FALSE(std::filesystem::exists(scratch.path("copy")));
}

TEST_CASE("backup: into a fresh volume, again and again") {
  const Scratch scratch;
  const std::string data = scratch.path("data");
  write_journal(data, {put_batch(1, "mail")});
  std::filesystem::create_directories(data + "/lost+found");
  const std::string volume = scratch.path("volume");
  for (const char* const name : {"lost+found", ".snapshot", ".zfs"}) {
    std::filesystem::create_directories(volume + "/" + name);
  }
  for (int i = 0; i < 2; ++i) {
    CHECK(back_up_journal({.directory = data, .to = volume, .since = volume}));
    CHECK(std::filesystem::is_directory(volume + "/lost+found"));
  }
  CHECK(has(check_journal(volume), "writes: 1"));
}

TEST_CASE("backup: not into a directory that has something, or into the journal's own") {
  const Scratch scratch;
  const std::string data = scratch.path("data");
  write_journal(data, {put_batch(1, "mail")});
  write_journal(scratch.path("other"), {put_batch(2, "mail")});
  CHECK(back_up_journal({.directory = data, .to = scratch.path("other")}).error().text ==
        scratch.path("other") + " is not empty; use a new directory");
  CHECK(has(check_journal(scratch.path("other")), "writes: 1"));
  std::filesystem::create_directory_symlink(data, scratch.path("link"));
  for (const std::string& target : {data + "/new", scratch.path("link/new")}) {
    CAPTURE(target);
    const auto copied = back_up_journal({.directory = data, .to = target});
    REQUIRE_FALSE(copied);
    CHECK(copied.error().text == target + " must not be inside " + data);
  }
  for (const std::string& target : {data, data + "/../data", scratch.path("link")}) {
    CAPTURE(target);
    const auto copied = back_up_journal({.directory = data, .to = target});
    REQUIRE_FALSE(copied);
    CHECK(copied.error().text == target + " cannot be source and target: use a new directory");
  }
}

TEST_CASE("backup: it grows by what is new, and has what compaction has removed") {
  Backed backed;
  backed.log.put(100);
  REQUIRE(backed.grow());
  const std::size_t before = segments(backed.copy).size();
  backed.log.put(100);
  backed.log.trim();
  const auto grown = backed.grow();
  REQUIRE_MESSAGE(grown, grown.error().text);
  CHECK(backed.manifest().points.size() == 2);
  CHECK(segments(backed.copy).size() == segments(backed.data).size() + 1);
  CHECK(segments(backed.copy).size() > before);
  CHECK(has(check_journal(backed.copy), mail_ready(200)));
}

TEST_CASE("backup: where nothing has happened, nothing is added") {
  Backed backed;
  backed.log.put(10);
  REQUIRE(backed.grow());
  const BackupManifest before = backed.manifest();
  const auto grown = backed.grow();
  CHECK(has(grown, "new: 0 segments, 0 bytes"));
  CHECK(backed.manifest().files == before.files);
  CHECK(backed.manifest().points.size() == 1);
  CHECK(backed.manifest().points[0].at >= before.points[0].at);
}

TEST_CASE("backup: a second one to the same place needs to be asked for") {
  Backed backed;
  backed.log.put(10);
  REQUIRE(back_up_journal({.directory = backed.data, .to = backed.copy}));
  const auto again = back_up_journal({.directory = backed.data, .to = backed.copy});
  REQUIRE_FALSE(again);
  CHECK(again.error().text.find(" has a backup already: add to it with --since ") !=
        std::string::npos);
  CHECK(backed.grow());
}

TEST_CASE("backup: only what is new can be in a directory of its own, and needs the other one") {
  Backed backed;
  backed.log.put(100);
  REQUIRE(backed.grow());
  backed.log.put(100);
  const std::string next = backed.scratch.path("next");
  REQUIRE(back_up_journal({.directory = backed.data, .to = next, .since = backed.copy}));
  CHECK(segments(next).size() < segments(backed.data).size());
  const auto alone = restore_journal({.from = {next}, .to = backed.scratch.path("new")});
  REQUIRE_FALSE(alone);
  CHECK(alone.error().text == "00000000000000000000.log is missing, which " + next +
                                  " needs: name the earlier backup that has it, too");
  const auto both =
      restore_journal({.from = {backed.copy, next}, .to = backed.scratch.path("new")});
  CHECK(has(both, mail_ready(200)));
  const auto checked = check_directory(next);
  CHECK(has(checked, "files that an earlier backup has: 1"));
  CHECK(checked->text.find("can be restored: together with that one, any time from ") !=
        std::string::npos);
  CHECK(has(checked, "no damage"));
  CHECK_FALSE(checked->damage);
  const auto grown = back_up_journal({.directory = backed.data, .to = next, .since = next});
  REQUIRE_FALSE(grown);
  CHECK(grown.error().text == next + "/00000000000000000000.log is missing: use a new directory");
}

TEST_CASE("backup: one of which a file is missing is nothing to begin at, and does not grow") {
  Backed backed;
  backed.log.put(300);
  REQUIRE(backed.grow());
  const std::vector<std::string> paths = segments(backed.copy);
  REQUIRE(paths.size() > 2);
  const auto refusal = [&] {
    const auto made = back_up_journal(
        {.directory = backed.data, .to = backed.scratch.path("next"), .since = backed.copy});
    return made ? "" : made.error().text;
  };
  const std::uint64_t bytes = backed.manifest().files[1].bytes;
  std::filesystem::resize_file(paths[1], bytes - 1);
  CHECK(refusal() == "--since: " + paths[1] + " is shorter than the manifest says");
  CHECK(backed.grow().error().text ==
        paths[1] + " is shorter than the manifest says: use a new directory");
  std::filesystem::remove(paths[1]);
  CHECK(refusal() == "--since: " + paths[1] + " is missing");
  for (const std::string& path : paths) std::filesystem::remove(path);
  CHECK(refusal() == "--since: " + paths[0] + " is missing");
  CHECK_FALSE(std::filesystem::exists(backed.scratch.path("next")));
}

TEST_CASE("backup: check compares it with its manifest") {
  Backed backed;
  backed.log.put(300);
  REQUIRE(backed.grow());
  const std::vector<std::string> paths = segments(backed.copy);
  const auto whole = check_directory(backed.copy);
  CHECK(has(whole, "files that match the manifest: " + std::to_string(paths.size())));
  CHECK_FALSE(whole->damage);
  const std::string first = backed.scratch.path("first");
  std::filesystem::rename(paths[0], first);
  CHECK(check_directory(backed.copy)->damage == paths[0] + " is missing");
  std::filesystem::rename(first, paths[0]);
  // Of the last file a server would take each of these for a torn tail.
  const auto size = std::filesystem::file_size(paths.back());
  flip_byte(paths.back(), static_cast<std::streamoff>(backed.manifest().files.back().bytes) - 9);
  CHECK(check_directory(backed.copy)->damage ==
        paths.back() + " does not match its checksum in the manifest");
  std::filesystem::resize_file(paths.back(), backed.manifest().files.back().bytes - 100);
  CHECK(check_directory(backed.copy)->damage ==
        paths.back() + " is shorter than the manifest says");
  std::filesystem::resize_file(paths.back(), size);
  flip_byte(backed.copy + "/manifest", 30);
  CHECK(check_directory(backed.copy)->damage ==
        backed.copy + "/manifest does not match its own checksum: it is not whole, or was changed");
}

TEST_CASE("backup: without a writer it knows by the last segment that a journal does not go on") {
  Backed backed;
  std::filesystem::remove(backed.data + "/starts");
  backed.log.put(20);
  REQUIRE(backed.grow());
  const BackupManifest before = backed.manifest();
  backed.log.close();
  SUBCASE("another one") {
    std::filesystem::remove_all(backed.data);
    write_segments(backed.data);
  }
  SUBCASE("one that was set back") {
    std::filesystem::remove_all(backed.data);
    write_journal(backed.data, {put_batch(1, "mail")});
  }
  const auto grown = backed.grow();
  REQUIRE_FALSE(grown);
  CHECK(grown.error().text.find(" does not go on where " + backed.copy +
                                " ends: the journal has lost what it had then") !=
        std::string::npos);
  CHECK(backed.manifest() == before);
  CHECK(has(backed.restore(), mail_ready(20)));
}

TEST_CASE("backup: after compaction, too, a journal that does not go on is refused") {
  Backed backed;
  backed.log.put(20);
  REQUIRE(backed.grow());
  const BackupManifest before = backed.manifest();
  const std::string older = backed.scratch.path("older");
  backed.log.close();
  std::filesystem::copy(backed.data, older);
  std::string data = backed.data;
  const auto compact = [&](const std::string& directory) {
    GrowingLog log(directory);
    log.now = backed.log.now;
    log.put(300);
    log.trim(static_cast<int>(segments(directory).size()) - 1);
    log.close();
  };
  const auto back_up_more = [&] {
    backed.log.open();
    backed.log.put(5);
    REQUIRE(backed.grow());
    backed.log.close();
  };
  SUBCASE("another one") {
    data = backed.scratch.path("other");
    compact(data);
  }
  SUBCASE("one that was restored until before the backup") {
    back_up_more();
    REQUIRE(backed.restore(backed.log.now - 2s, "new"));
    data = backed.scratch.path("new");
    compact(data);
  }
  SUBCASE("one that was set back: the copy has fewer starts than the backup knows") {
    back_up_more();
    data = older;
    compact(data);
  }
  const BackupManifest known = backed.manifest();
  const auto refusal = [&](const BackupChoice& choice) {
    const auto report = back_up_journal(choice);
    return report ? "none: " + report->text : report.error().text;
  };
  const std::string expected =
      data + " does not go on where " + backed.copy +
      " ends: it is another journal, or was restored, or set back, as by a power cut, or " + data +
      "/starts was lost since; make a full backup in a new directory";
  CHECK(refusal({.directory = data, .to = backed.copy, .since = backed.copy}) == expected);
  CHECK(refusal({.directory = data, .to = backed.scratch.path("part"), .since = backed.copy}) ==
        expected);
  CHECK(backed.manifest() == known);
  CHECK(known.points.front() == before.points.front());
}

TEST_CASE("backup: a journal that was restored from it is another one, though it has all of it") {
  Backed backed;
  backed.log.put(20);
  REQUIRE(backed.grow());
  REQUIRE(backed.restore());
  const std::string restored = backed.scratch.path("new");
  const auto refused = [&] {
    const auto grown =
        back_up_journal({.directory = restored, .to = backed.copy, .since = backed.copy});
    return grown ? "" : grown.error().text;
  };
  CHECK(refused().starts_with(restored + " does not go on where "));
  GrowingLog(restored).put(5);
  CHECK(refused().starts_with(restored + " does not go on where "));
  backed.log.put(5);
  CHECK(backed.grow());
}

TEST_CASE("backup: where the starts cannot be read, or no journal is there, that is told") {
  Backed backed;
  backed.log.put(20);
  REQUIRE(backed.grow());
  const std::string starts = backed.data + "/starts";
  std::filesystem::remove(starts);
  std::filesystem::create_directory(starts);
  CHECK(backed.grow().error().text == starts + " is not a file");
  CHECK(back_up_journal({.directory = backed.data, .to = backed.scratch.path("full")}));
  const std::string empty = backed.scratch.path("empty");
  std::filesystem::create_directory(empty);
  const auto nothing =
      back_up_journal({.directory = empty, .to = backed.copy, .since = backed.copy});
  CHECK(nothing.error().text == empty + " holds no journal");
}

TEST_CASE("backup: a journal whose starts began anew is refused for that") {
  Backed backed;
  backed.log.put(20);
  REQUIRE(backed.grow());
  backed.log.close();
  std::filesystem::remove(backed.data + "/starts");
  backed.log.open();
  backed.log.put(1);
  const auto grown = backed.grow();
  REQUIRE_FALSE(grown);
  CHECK(grown.error().text.ends_with(
      backed.data + "/starts was lost since; make a full backup in a new directory"));
}

TEST_CASE("backup: the manifest is written into no directory of a journal or a backup") {
  Backed backed;
  backed.log.put(20);
  REQUIRE(backed.grow());
  const auto refusal = [&](const std::string& manifest) {
    const auto done = back_up_journal(
        {.directory = backed.data, .to = backed.copy, .since = backed.copy, .manifest = manifest});
    return done ? "" : done.error().text;
  };
  for (const std::string& directory : {backed.data, backed.copy}) {
    const std::string path = segments(directory).front();
    CHECK(refusal(path) == path + " must not be inside a journal or a backup");
    CHECK(refusal(directory + "/new") ==
          directory + "/new must not be inside a journal or a backup");
  }
  CHECK(refusal(backed.scratch.path("last")).empty());
  const std::string fresh = backed.scratch.path("fresh");
  std::filesystem::create_directory(backed.scratch.path("empty"));
  const std::string inside = backed.scratch.path("empty/") + journal::segment_name(0);
  const auto within = back_up_journal(
      {.directory = backed.data, .to = backed.scratch.path("empty"), .manifest = inside});
  CHECK(within.error().text == inside + " must not be inside a journal or a backup");
  const auto same =
      back_up_journal({.directory = backed.data, .to = fresh, .manifest = fresh + "/"});
  CHECK(same.error().text == fresh + "/ cannot be both DEST and a manifest");
  CHECK_FALSE(std::filesystem::exists(fresh));
  const std::string manifest = backed.copy + "/manifest";
  const auto replaced = back_up_journal(
      {.directory = backed.data, .to = fresh, .since = manifest, .manifest = manifest});
  CHECK(replaced.error().text == manifest + " must not be inside a journal or a backup");
}

TEST_CASE("backup: a link to a directory that is not there stays") {
  Backed backed;
  backed.log.put(20);
  std::filesystem::create_symlink(backed.scratch.path("away"), backed.copy);
  CHECK_FALSE(backed.grow());
  CHECK(std::filesystem::is_symlink(backed.copy));
}

TEST_CASE("backup: check does not count what one that failed has left") {
  Backed backed;
  backed.log.put(20);
  REQUIRE(backed.grow());
  write_segments(backed.scratch.path("other"));
  const std::string left = segments(backed.scratch.path("other")).back();
  std::filesystem::copy(left, backed.copy);
  const auto checked = check_directory(backed.copy);
  CHECK(has(checked, "segments of a backup that did not end, which are not counted: 1"));
  CHECK(has(checked, "no damage"));
  CHECK_FALSE(checked->damage);
}

TEST_CASE("backup: DEST/ and DEST are one, also before it is there") {
  Backed backed;
  backed.log.put(20);
  const auto grow = [&](const std::string& since, const std::string& to) {
    return back_up_journal({.directory = backed.data, .to = to, .since = since});
  };
  CHECK(grow(backed.copy + "/", backed.copy));
  CHECK(grow(backed.copy, backed.copy + "//"));
  CHECK(grow(backed.copy + "/.", backed.copy));
}

TEST_CASE("backup: of a restored journal that has no new job it knows that journal, too") {
  Backed backed;
  backed.log.put(20);
  REQUIRE(backed.grow());
  REQUIRE(backed.restore());
  const std::string restored = backed.scratch.path("new");
  const std::string copy = backed.scratch.path("copy of new");
  GrowingLog log(restored);
  log.now = backed.log.now;
  REQUIRE(back_up_journal({.directory = restored, .to = copy}));
  const auto compact = [](const std::string& directory, GrowingLog& compacted) {
    compacted.put(300);
    compacted.trim(static_cast<int>(segments(directory).size()) - 1);
  };
  compact(backed.data, backed.log);
  const auto other = back_up_journal({.directory = backed.data, .to = copy, .since = copy});
  REQUIRE_FALSE(other);
  CHECK(other.error().text.starts_with(backed.data + " does not go on where "));
  // A server that started again and again, and wrote nothing, is the same one.
  for (int i = 0; i < 3; ++i) {
    log.close();
    log.open();
  }
  CHECK(back_up_journal({.directory = restored, .to = copy, .since = copy}));
  compact(restored, log);
  CHECK(back_up_journal({.directory = restored, .to = copy, .since = copy}));
}

TEST_CASE("backup: a journal whose starts are lost is refused") {
  Backed backed;
  backed.log.put(20);
  REQUIRE(backed.grow());
  const std::string starts = backed.data + "/starts";
  SUBCASE("missing") {
    std::filesystem::remove(starts);
  }
  SUBCASE("damaged") {
    flip_byte(starts, 3);
  }
  const auto grown = backed.grow();
  REQUIRE_FALSE(grown);
  CHECK(grown.error().text ==
        starts + " is missing or damaged, so nothing shows that the journal goes on where " +
            backed.copy + " ends; make a full backup in a new directory");
  const auto full = back_up_journal({.directory = backed.data, .to = backed.scratch.path("full")});
  CHECK(has(full, mail_ready(20)));
  CHECK(has(
      full,
      "warning: the journal's file `starts` does not tell who wrote its end: the next backup may "
      "not know that it is of the same journal"));
}

TEST_CASE("backup: one that does not say of which journal it is goes on with any, and warns") {
  Backed backed;
  std::filesystem::remove(backed.data + "/starts");
  backed.log.put(20);
  REQUIRE(backed.grow());
  CHECK_FALSE(backed.manifest().writer.has_value());
  backed.log.put(300);
  backed.log.trim(static_cast<int>(segments(backed.data).size()) - 1);
  const std::string warning =
      "warning: the earlier backup does not say of which journal it is: it may be of another one";
  CHECK(has(backed.grow(), warning));
  backed.log.put(1);
  CHECK_FALSE(has(backed.grow(), warning));
  CHECK(backed.manifest().writer.has_value());
}

TEST_CASE("backup: where compaction was faster, all is copied, and the gap is told") {
  Backed backed;
  // A backup counts as made when its last batch was, where that is later than now.
  backed.log.now += std::chrono::hours(24 * 365 * 100);
  backed.log.put(100);
  const Time before = backed.log.now;
  REQUIRE(backed.grow());
  backed.log.put(300);
  backed.log.trim(static_cast<int>(segments(backed.data).size()) - 1);
  const auto grown = backed.grow();
  REQUIRE_MESSAGE(grown, grown.error().text);
  CHECK(grown->text.find("warning: compaction has removed segments") != std::string::npos);
  CHECK(runs_of(backed.manifest()).size() == 2);
  CHECK(has(check_directory(backed.copy), "no damage"));
  CHECK(has(backed.restore(before, "old"), mail_ready(100)));
  const auto between = backed.restore(backed.log.now - 1s, "between");
  REQUIRE_FALSE(between);
  CHECK(between.error().text.find("compaction was faster than the backups then; the nearest times "
                                  "are ") != std::string::npos);
  CHECK(backed.restore(backed.log.now));
}

TEST_CASE("backup: with an age it forgets what only earlier times need") {
  Backed backed;
  backed.log.put(200);
  REQUIRE(backed.grow());
  backed.log.put(200);
  backed.log.trim();
  REQUIRE(backed.grow());
  const std::size_t before = segments(backed.copy).size();
  REQUIRE(back_up_journal(
      {.directory = backed.data, .to = backed.copy, .since = backed.copy, .keep = 0s}));
  CHECK(segments(backed.copy).size() == before - 1);
  CHECK(backed.manifest().points.size() == 1);
  CHECK(backed.restore());
}

TEST_CASE("backup: one that was interrupted goes on") {
  Backed backed;
  backed.log.put(100);
  std::filesystem::create_directory(backed.copy);
  write_over(backed.copy + "/manifest.part", "");
  write_over(backed.copy + "/00000000000000000000.log.part", "half");
  write_over(backed.copy + "/00000000000000004000.log", "of a segment that is gone");
  CHECK_FALSE(backed.restore());
  const auto done = back_up_journal({.directory = backed.data, .to = backed.copy});
  REQUIRE_MESSAGE(done, done.error().text);
  CHECK(segments(backed.copy).size() == segments(backed.data).size());
  CHECK(has(backed.restore(), mail_ready(100)));
}

TEST_CASE("backup: one that grows and is interrupted is what it was") {
  Backed backed;
  backed.log.put(100);
  REQUIRE(backed.grow());
  backed.log.put(1);
  // The longer file of the last segment has its name, and the manifest is the old one.
  const std::string last = segments(backed.data).back();
  std::filesystem::copy(last, backed.copy + "/" + name_of(last),
                        std::filesystem::copy_options::overwrite_existing);
  CHECK(has(backed.restore(), mail_ready(100)));
  REQUIRE(backed.grow());
  CHECK(has(backed.restore({}, "later"), mail_ready(101)));
}

}  // namespace millrace::tools
