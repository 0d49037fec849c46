#include "tools/directory/export_mark.hpp"

#include <filesystem>
#include <fstream>

#include "support/doctest.hpp"
#include "support/scratch.hpp"

namespace millrace::tools {

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

}  // namespace millrace::tools
