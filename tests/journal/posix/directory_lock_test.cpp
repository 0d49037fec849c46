/// Two journals of one directory, and directories that are taken away while they are in use.

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "journal/file/file_system.hpp"
#include "journal/file/log_format.hpp"
#include "journal/fixture.hpp"

namespace millrace::journal {
namespace {

/// A directory that may be moved, in one that is removed when the test ends.
struct Place {
  TemporaryDirectory around;
  std::string path = around.path() + "/data";
  std::string elsewhere = around.path() + "/elsewhere";

  Place() { std::filesystem::create_directory(path); }
};

/// What the look at the lock says; empty: all is well.
std::string complaint(const DirectoryLock& lock) {
  const Outcome<Done> checked = lock.check();
  return checked ? std::string() : checked.error().text;
}

std::string refusal_of_lock(const std::string& path) {
  const auto lock = DirectoryLock::take(path);
  return lock ? std::string() : lock.error().text;
}

}  // namespace

TEST_CASE("lock: a directory that nobody touches stays ours") {
  const Place place;
  const auto lock = DirectoryLock::take(place.path);
  REQUIRE(lock);
  CHECK(lock->is_on_directory());
  CHECK(complaint(*lock).empty());
}

TEST_CASE("lock: without the file `lock`, the directory keeps others out") {
  const Place place;
  const auto lock = DirectoryLock::take(place.path);
  REQUIRE(lock);
  std::filesystem::remove(place.path + "/lock");
  CHECK(refusal_of_lock(place.path) == place.path + " is in use by another process");
  CHECK_FALSE(std::filesystem::exists(place.path + "/lock"));
  CHECK(complaint(*lock) == place.path + "/lock was deleted or replaced while it was in use");
}

TEST_CASE("lock: a link named `lock` is not followed") {
  const Place place;
  std::filesystem::create_symlink(place.elsewhere, place.path + "/lock");
  CHECK(refusal_of_lock(place.path).starts_with("cannot open " + place.path + "/lock: "));
  CHECK_FALSE(std::filesystem::exists(place.elsewhere));
}

TEST_CASE("lock: a new file `lock` is not ours") {
  const Place place;
  const auto lock = DirectoryLock::take(place.path);
  REQUIRE(lock);
  std::filesystem::rename(place.path + "/lock", place.path + "/kept");
  std::ofstream(place.path + "/lock") << "1\n";
  CHECK(complaint(*lock) == place.path + "/lock was deleted or replaced while it was in use");
}

TEST_CASE("lock: a process that locks the file alone keeps others out, as older versions do") {
  const Place place;
  const Descriptor file(::open((place.path + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(::flock(file.get(), LOCK_EX | LOCK_NB) == 0);
  REQUIRE(::write(file.get(), "4711\n", 5) == 5);
  CHECK(refusal_of_lock(place.path) == place.path + " is in use by another process (pid 4711)");
}

TEST_CASE("lock: a directory that is moved, deleted or replaced is noticed") {
  const Place place;
  const auto lock = DirectoryLock::take(place.path);
  REQUIRE(lock);
  SUBCASE("moved") {
    std::filesystem::rename(place.path, place.elsewhere);
  }
  SUBCASE("deleted") {
    std::filesystem::remove_all(place.path);
  }
  SUBCASE("replaced") {
    std::filesystem::rename(place.path, place.elsewhere);
    std::filesystem::create_directory(place.path);
  }
  SUBCASE("replaced by a file") {
    std::filesystem::remove_all(place.path);
    std::ofstream(place.path) << "file";
  }
  SUBCASE("its parent moved") {
    std::filesystem::rename(place.around.path(), place.around.path() + "-moved");
    CHECK_FALSE(complaint(*lock).empty());
    std::filesystem::rename(place.around.path() + "-moved", place.around.path());
    CHECK(complaint(*lock).empty());
    return;
  }
  CHECK(complaint(*lock) == place.path + " was moved, deleted or replaced while it was in use");
}

TEST_CASE("lock: a symbolic link that leads elsewhere now is noticed") {
  const Place place;
  const std::string link = place.around.path() + "/link";
  std::filesystem::create_directory(place.elsewhere);
  std::filesystem::create_directory_symlink(place.path, link);
  const auto lock = DirectoryLock::take(link);
  REQUIRE(lock);
  CHECK(complaint(*lock).empty());
  std::filesystem::remove(link);
  std::filesystem::create_directory_symlink(place.elsewhere, link);
  CHECK(complaint(*lock) == link + " was moved, deleted or replaced while it was in use");
}

TEST_CASE("lock: paths in a locked directory mean that directory, whatever is there now") {
  Place place;
  PosixFileSystem files;
  auto lock = files.lock(place.path);
  REQUIRE(lock);
  std::filesystem::rename(place.path, place.elsewhere);
  std::filesystem::create_directory(place.path);
  REQUIRE(files.create(place.path + "/one"));
  REQUIRE(files.rename(place.path + "/one", place.path + "/two"));
  REQUIRE(files.link(place.path + "/two", place.path + "/three"));
  CHECK(*files.has_other_name(place.path + "/two"));
  REQUIRE(files.sync_directory(place.path));
  CHECK(files.open(place.path + "/two", FileSystem::Access::kRead));
  CHECK(*files.free_space(place.path) > 0);
  CHECK(files.list(place.path)->size() == 3);
  CHECK(std::filesystem::exists(place.elsewhere + "/three"));
  REQUIRE(files.remove(place.path + "/three"));
  CHECK(std::filesystem::is_empty(place.path));
  lock->reset();
  CHECK_FALSE(files.open(place.path + "/two", FileSystem::Access::kRead));
}

TEST_CASE("lock: a journal whose directory is moved writes nothing to the one in its place") {
  Place place;
  PosixFileSystem files;
  std::string failure;
  FileJournalOptions options = surviving(small_segments(), failure);
  options.is_stepped = true;
  auto journal = start(files, place.path, options);
  append_synced(*journal, {"one"});
  std::filesystem::rename(place.path, place.elsewhere);
  std::filesystem::create_directory(place.path);
  const Lsn durable = journal->durable();
  append_synced(*journal, Batches(5, std::string(300, 'x')));
  CHECK(journal->durable() == durable);
  journal.reset();
  CHECK(failure == place.path + " was moved, deleted or replaced while it was in use");
  CHECK(std::filesystem::is_empty(place.path));
  CHECK(replayed_by(files, place.elsewhere).front() == "one");
}

}  // namespace millrace::journal
