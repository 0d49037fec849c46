#include "journal/file/file_system.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "journal/file/log_format.hpp"
#include "journal/fixture.hpp"

namespace millrace::journal {
namespace {

unsigned mode_of(const std::string& path) {
  struct stat status = {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 0777;
}

}  // namespace

TEST_CASE("disk: a journal's directory and files are for its owner only") {
  PosixFileSystem files;
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/data";
  start(files, path);
  CHECK(mode_of(path) == 0700);
  CHECK(mode_of(path + "/" + segment_name(0)) == 0600);
  CHECK(mode_of(path + "/lock") == 0600);
}

TEST_CASE("disk: what a file system keeps in a volume is not listed") {
  PosixFileSystem files;
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/volume";
  REQUIRE(files.ensure_directory(path));
  for (const char* const name : {"lost+found", ".snapshot", ".snapshots", ".zfs"}) {
    REQUIRE(::mkdir((path + "/" + name).c_str(), 0700) == 0);
  }
  CHECK(files.list(path)->empty());
  REQUIRE(::mkdir((path + "/lost").c_str(), 0700) == 0);
  CHECK(*files.list(path) == std::vector<std::string>{"lost"});
}

TEST_CASE("disk: a file with the name of what a file system keeps is listed") {
  PosixFileSystem files;
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/lost+found";
  REQUIRE(files.create(path));
  CHECK(*files.list(directory.path()) == std::vector<std::string>{"lost+found"});
  REQUIRE(files.remove(path));
  REQUIRE(::symlink(directory.path().c_str(), path.c_str()) == 0);
  CHECK(*files.list(directory.path()) == std::vector<std::string>{"lost+found"});
}

TEST_CASE("disk: a directory without a parent is not created") {
  PosixFileSystem files;
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/missing/data";
  CHECK(refusal(files, path) == "cannot create directory " + path + ": No such file or directory");
}

TEST_CASE("disk: a file is not a directory for a journal") {
  PosixFileSystem files;
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/file";
  REQUIRE(files.create(path));
  CHECK(refusal(files, path) == "cannot use " + path + ": Not a directory");
}

TEST_CASE("disk: a second journal of one directory is refused, and says which process holds it") {
  PosixFileSystem files;
  const TemporaryDirectory directory;
  const auto journal = start(files, directory.path());
  CHECK(refusal(files, directory.path()) == directory.path() +
                                                " is in use by another process (pid " +
                                                std::to_string(::getpid()) + ")");
}

TEST_CASE("disk: a closed journal's directory can be opened again") {
  PosixFileSystem files;
  const TemporaryDirectory directory;
  start(files, directory.path());
  CHECK(refusal(files, directory.path()).empty());
}

TEST_CASE("disk: a gathered write of thousands of parts arrives whole") {
  PosixFileSystem files;
  const TemporaryDirectory directory;
  const auto file = files.create(directory.path() + "/file");
  REQUIRE(file);
  const std::vector<std::string_view> parts(5000, "part");
  REQUIRE((*file)->write(3, parts));
  std::string bytes(20004, '\0');
  CHECK(*(*file)->read(0, bytes) == 20003);
  CHECK(bytes.substr(0, 7) == std::string("\0\0\0part", 7));
  CHECK(bytes.substr(19999, 4) == "part");
}

TEST_CASE("disk: a file that exists is not created again") {
  PosixFileSystem files;
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/file";
  REQUIRE(files.create(path));
  const auto again = files.create(path);
  REQUIRE_FALSE(again);
  CHECK(again.error().text == "cannot create " + path + ": File exists");
}

TEST_CASE("disk: a file with another name says so, and one that is renamed loses the old one") {
  PosixFileSystem files;
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/file";
  const std::string other = directory.path() + "/other";
  REQUIRE(files.create(path));
  CHECK_FALSE(*files.has_other_name(path));
  REQUIRE(files.link(path, other));
  CHECK(*files.has_other_name(path));
  CHECK(*files.has_other_name(other));
  REQUIRE(files.remove(other));
  REQUIRE(files.rename(path, other));
  CHECK_FALSE(files.open(path, FileSystem::Access::kRead));
  CHECK(files.open(other, FileSystem::Access::kRead));
  CHECK_FALSE(files.rename(path, other));
}

TEST_CASE("disk: preallocated space reads as zeros") {
  PosixFileSystem files;
  const TemporaryDirectory directory;
  const auto file = files.create(directory.path() + "/file");
  REQUIRE(file);
  REQUIRE((*file)->preallocate(10000));
  CHECK(*(*file)->size() == 10000);
  std::string bytes(10000, 'x');
  CHECK(*(*file)->read(0, bytes) == 10000);
  CHECK(bytes == std::string(10000, '\0'));
}

TEST_CASE("disk: what is no file is refused and not waited for") {
  const TemporaryDirectory directory;
  const std::string pipe = directory.path() + "/pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  PosixFileSystem files;
  for (const auto access : {FileSystem::Access::kRead, FileSystem::Access::kReadWrite}) {
    const auto opened = files.open(pipe, access);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().text == pipe + " is not a file");
  }
}

}  // namespace millrace::journal
