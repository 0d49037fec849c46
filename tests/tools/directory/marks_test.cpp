#include "tools/directory/marks.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include "support/doctest.hpp"
#include "support/scratch.hpp"
#include "tools/backup/backup.hpp"
#include "tools/directory/check.hpp"
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

TEST_CASE("export mark: what was written is read") {
  const Scratch scratch;
  journal::PosixFileSystem files;
  const std::string directory = scratch.path("data");
  std::filesystem::create_directory(directory);
  CHECK(read_export_mark(files, directory).value() == std::nullopt);
  ExportMark mark{.target = "tcp://127.0.0.1:7419",
                  .process = "began 1,000",
                  .log_end = 4096,
                  .salt = 7,
                  .refused = 3,
                  .given = 100,
                  .jobs = 300};
  REQUIRE(write_export_mark(files, directory, mark));
  CHECK(read_export_mark(files, directory).value() == mark);
  CHECK_FALSE(mark.is_done());
  mark.given = 300;
  REQUIRE(write_export_mark(files, directory, mark));
  CHECK(read_export_mark(files, directory).value() == mark);
  CHECK(mark.is_done());
}

TEST_CASE("export mark: it says how far the export is, and how to serve the directory again") {
  const Scratch scratch;
  journal::PosixFileSystem files;
  const std::string directory = scratch.path("data");
  std::filesystem::create_directory(directory);
  CHECK(refuse_exported(directory));
  ExportMark mark{.target = "beanstalk://b:11300", .log_end = 1, .given = 100, .jobs = 300};
  REQUIRE(write_export_mark(files, directory, mark));
  CHECK(refuse_exported(directory).error().text ==
        "an export of " + directory +
            " to beanstalk://b:11300 has not ended (100 of 300 jobs): run it again, or remove the "
            "file " +
            directory + "/export to use them all here");
  mark.given = 300;
  REQUIRE(write_export_mark(files, directory, mark));
  CHECK(refuse_exported(directory).error().text.starts_with("the jobs of " + directory + " were"));
}

TEST_CASE("export mark: each mark that is cut, longer or odd is refused") {
  const Scratch scratch;
  journal::PosixFileSystem files;
  const std::string directory = scratch.path("data");
  std::filesystem::create_directory(directory);
  const std::string path = directory + "/export";
  const ExportMark mark{
      .target = "t", .process = "p", .log_end = 1, .salt = 1, .refused = 1, .given = 2, .jobs = 3};
  REQUIRE(write_export_mark(files, directory, mark));
  std::string whole;
  std::getline(std::ifstream(path), whole, '\0');
  const auto refuses = [&](const std::string& text) {
    std::ofstream(path, std::ios::trunc) << text;
    return !read_export_mark(files, directory) && !refuse_exported(directory);
  };
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    CAPTURE(bytes);
    CHECK(refuses(whole.substr(0, bytes)));
  }
  CHECK(refuses(whole + "4\n"));
  CHECK(refuses(whole.substr(0, whole.size() - 2) + "1\n"));  // more given than there are
  CHECK(refuses(whole.substr(0, whole.size() - 2) + "-3\n"));
}

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
  test.scratch.write("data/import.part", "An imp");
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
