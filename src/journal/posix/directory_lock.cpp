#include "journal/posix/directory_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <optional>
#include <system_error>

namespace millrace::journal {
namespace {

constexpr const char* kLockName = "lock";
constexpr mode_t kLockMode = 0600;

Problem in_use(const std::string& directory, const std::string& holder) {
  return Problem{directory + " is in use by another process" + holder};
}

/// What the holder of a lock wrote into its file, as words to append; empty when it is not a
/// number.
std::string holder_of(const Descriptor& file) {
  std::array<char, 24> text = {};
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), 0);
  const std::string_view read(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::string_view digits = read.substr(0, read.find('\n'));
  const bool is_number =
      !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number ? " (pid " + std::string(digits) + ")" : std::string();
}

void write_pid(const Descriptor& file) {
  const std::string pid = std::to_string(::getpid()) + "\n";
  // A full disk has no room for it, and does not matter.
  if (::pwrite(file.get(), pid.data(), pid.size(), 0) == static_cast<ssize_t>(pid.size())) {
    (void)!::ftruncate(file.get(), static_cast<off_t>(pid.size()));
  }
}

enum class Taken { kYes, kBySomebody, kNotPossible };

Taken take_lock(const Descriptor& of) {
  if (uninterrupted([&] { return ::flock(of.get(), LOCK_EX | LOCK_NB); }) == 0) return Taken::kYes;
  return errno == EWOULDBLOCK ? Taken::kBySomebody : Taken::kNotPossible;
}

/// Whether `name` is still the name of what is open. Also when that cannot be told: a process may
/// lose the right to look, and nobody has moved anything then.
bool is_at(int directory, const char* name, const Descriptor& open) {
  struct stat named = {};
  struct stat ours = {};
  if (::fstatat(directory, name, &named, 0) < 0) {
    return errno != ENOENT && errno != ENOTDIR && errno != ELOOP && errno != ESTALE;
  }
  if (::fstat(open.get(), &ours) < 0) return errno != ESTALE;
  return named.st_dev == ours.st_dev && named.st_ino == ours.st_ino;
}

std::string absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  return error ? path : whole.string();
}

}  // namespace

DirectoryLock::DirectoryLock(const std::string& path, Descriptor directory, Descriptor file,
                             bool is_on_directory)
    : path_(path),
      absolute_path_(absolute(path)),
      directory_(std::move(directory)),
      file_(std::move(file)),
      is_on_directory_(is_on_directory) {}

/// The directory first: so a process that finds it locked does not make a file `lock` in it, which
/// would end the server that holds it.
Outcome<DirectoryLock> DirectoryLock::take(const std::string& path) {
  Descriptor directory(
      uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!directory.is_open()) return failed_to("open", path, errno);
  const auto open_file = [&](int flags) {
    return Descriptor(uninterrupted(
        [&] { return ::openat(directory.get(), kLockName, flags | O_CLOEXEC, kLockMode); }));
  };
  const Taken taken = take_lock(directory);
  if (taken == Taken::kBySomebody) {
    const Descriptor file = open_file(O_RDONLY | O_NONBLOCK);
    return in_use(path, file.is_open() ? holder_of(file) : std::string());
  }
  const std::string file_path = path + "/" + kLockName;
  Descriptor made = open_file(O_RDWR | O_CREAT | O_EXCL);
  if (made.is_open()) give_to_owner_of(directory.get(), ".", made);
  const bool is_there = !made.is_open() && errno == EEXIST;
  // Through a link, root would write into any file that the owner of the directory names.
  Descriptor file = is_there ? open_file(O_RDWR | O_NONBLOCK | O_NOFOLLOW) : std::move(made);
  if (!file.is_open()) return failed_to("open", file_path, errno);
  switch (take_lock(file)) {
    case Taken::kBySomebody:
      return in_use(path, holder_of(file));
    case Taken::kNotPossible:
      return failed_to("lock", file_path, errno);
    case Taken::kYes:
      break;
  }
  write_pid(file);
  DirectoryLock lock(path, std::move(directory), std::move(file), taken == Taken::kYes);
  // Between opening and locking, both may have been exchanged.
  const Outcome<Done> checked = lock.check();
  if (!checked) return checked.error();
  return lock;
}

Outcome<Done> DirectoryLock::check() const {
  if (!is_at(AT_FDCWD, absolute_path_.c_str(), directory_)) {
    return Problem{path_ + " was moved, deleted or replaced while it was in use"};
  }
  if (!is_at(directory_.get(), kLockName, file_)) {
    return Problem{path_ + "/" + kLockName + " was deleted or replaced while it was in use"};
  }
  return Done{};
}

}  // namespace millrace::journal
