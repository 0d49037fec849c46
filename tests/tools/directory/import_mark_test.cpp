#include "tools/directory/import_mark.hpp"

#include <filesystem>
#include <string>

#include "support/doctest.hpp"
#include "support/scratch.hpp"
#include "tools/backup/backup.hpp"
#include "tools/directory/check.hpp"
#include "tools/directory/journal_copy.hpp"
#include "tools/directory/stored_journal.hpp"

namespace millrace::tools {
namespace {

const ImportMark kMark{.source = "beanstalkd's /old", .first_id = 7};

/// A journal with half an import.
struct HalfImport {
  HalfImport() {
    write_segments(directory);
    REQUIRE(write_import_mark(files, directory, kMark));
  }

  Scratch scratch;
  std::string directory = scratch.path("data");
  std::string refusal =
      "an import of beanstalkd's /old into " + directory + " has not ended: run it again";
  journal::PosixFileSystem files;
};

}  // namespace

TEST_CASE("import mark: what was written is read, until it is removed") {
  HalfImport test;
  CHECK(read_import_mark(test.files, test.directory).value() == kMark);
  CHECK(refuse_unfinished_import(test.directory).error().text == test.refusal);
  REQUIRE(remove_import_mark(test.files, test.directory));
  CHECK_FALSE(read_import_mark(test.files, test.directory).value());
  CHECK(refuse_unfinished_import(test.directory));
}

TEST_CASE("import mark: the counts of before are read as they were written") {
  HalfImport test;
  ImportMark mark = kMark;
  mark.counts.emplace();
  CHECK(write_import_mark(test.files, test.directory, mark));
  CHECK(read_import_mark(test.files, test.directory).value() == mark);
  mark.counts->counters = {
      .processed = UINT64_MAX, .failed = 5, .day = 20'000, .processed_today = 3, .failed_today = 2};
  mark.counts->days = {{.day = 19'998, .processed = 4, .failed = 1}, {.day = 19'999}};
  CHECK(write_import_mark(test.files, test.directory, mark));
  CHECK(read_import_mark(test.files, test.directory).value() == mark);
}

TEST_CASE("import mark: a draft that a crash left is no mark, and no hindrance") {
  HalfImport test;
  REQUIRE(remove_import_mark(test.files, test.directory));
  test.scratch.write("data/import.new", "An imp");
  CHECK(refuse_unfinished_import(test.directory));
  REQUIRE(write_import_mark(test.files, test.directory, kMark));
  CHECK(read_import_mark(test.files, test.directory).value() == kMark);
}

TEST_CASE("import mark: a directory that is missing has none") {
  const Scratch scratch;
  CHECK(refuse_unfinished_import(scratch.path("missing")));
}

TEST_CASE("import mark: a file of that name with other text is refused") {
  HalfImport test;
  for (const std::string text : {"", "something\n",
                                 "An import into this directory has not ended."
                                 " Run it again.\nsource\n0\n"}) {
    test.scratch.write("data/import", text);
    CHECK(refuse_unfinished_import(test.directory).error().text ==
          test.directory + "/import is not of an import of Millrace");
  }
}

TEST_CASE("import mark: a journal with half an import is not copied") {
  const HalfImport test;
  const std::string copy = test.scratch.path("copy");
  CHECK(back_up_journal({.directory = test.directory, .to = copy}).error().text == test.refusal);
  CHECK(salvage_journal(test.directory, copy).error().text == test.refusal);
  CHECK_FALSE(std::filesystem::exists(copy));
}

TEST_CASE("import mark: a check tells of half an import") {
  HalfImport test;
  CHECK(has(check_journal(test.directory), "warning: " + test.refusal));
  REQUIRE(remove_import_mark(test.files, test.directory));
  CHECK_FALSE(has(check_journal(test.directory), "warning: " + test.refusal));
}

}  // namespace millrace::tools
