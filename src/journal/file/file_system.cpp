#include "journal/file/file_system.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

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

/// For the owner only: jobs may hold secrets.
constexpr mode_t kFileMode = 0600;
constexpr mode_t kDirectoryMode = 0700;

/// The parts of a gathered write that are still to be written.
class Remainder {
 public:
  explicit Remainder(std::span<const std::string_view> parts) {
    pieces_.reserve(parts.size());
    for (const std::string_view part : parts) {
      if (!part.empty()) pieces_.push_back({const_cast<char*>(part.data()), part.size()});
    }
  }

  [[nodiscard]] bool is_empty() const { return next_ == pieces_.size(); }

  [[nodiscard]] std::span<const iovec> front() const {
    return {pieces_.data() + next_, std::min<std::size_t>(pieces_.size() - next_, IOV_MAX)};
  }

  void advance(std::size_t bytes) {
    while (bytes > 0) {
      iovec& piece = pieces_[next_];
      const std::size_t taken = std::min(bytes, piece.iov_len);
      piece.iov_base = static_cast<char*>(piece.iov_base) + taken;
      piece.iov_len -= taken;
      bytes -= taken;
      if (piece.iov_len == 0) ++next_;
    }
  }

 private:
  std::vector<iovec> pieces_;
  std::size_t next_ = 0;
};

class PosixFile final : public File {
 public:
  PosixFile(Descriptor descriptor, std::string path)
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

  Outcome<Done> write(std::uint64_t offset, std::span<const std::string_view> parts) override {
    Remainder remainder(parts);
    while (!remainder.is_empty()) {
      const std::span<const iovec> pieces = remainder.front();
      const ssize_t written = uninterrupted([&] {
        return ::pwritev(descriptor_.get(), pieces.data(), static_cast<int>(pieces.size()),
                         static_cast<off_t>(offset));
      });
      // Zero bytes without an error would be tried for ever.
      if (written <= 0) return failed_to("write", path_, written < 0 ? errno : EIO);
      remainder.advance(static_cast<std::size_t>(written));
      offset += static_cast<std::uint64_t>(written);
    }
    return Done{};
  }

  Outcome<std::size_t> read(std::uint64_t offset, std::span<char> into) override {
    std::size_t filled = 0;
    while (filled < into.size()) {
      const ssize_t got = uninterrupted([&] {
        return ::pread(descriptor_.get(), into.data() + filled, into.size() - filled,
                       static_cast<off_t>(offset + filled));
      });
      if (got < 0) {
        const bool is_of_disk = errno == EIO;
        Problem problem = failed_to("read", path_, errno);
        problem.is_passing = is_of_disk;
        return problem;
      }
      // The end of the file: the caller sees a short read.
      if (got == 0) break;
      filled += static_cast<std::size_t>(got);
    }
    return filled;
  }

  void expect(std::uint64_t offset, std::uint64_t size) override {
    (void)::posix_fadvise(descriptor_.get(), static_cast<off_t>(offset), static_cast<off_t>(size),
                          POSIX_FADV_WILLNEED);
  }

  Outcome<std::uint64_t> size() override {
    struct stat status = {};
    if (::fstat(descriptor_.get(), &status) < 0) return failed_to("examine", path_, errno);
    return static_cast<std::uint64_t>(status.st_size);
  }

  Outcome<Done> truncate(std::uint64_t size) override {
    const auto cut = [&] { return ::ftruncate(descriptor_.get(), static_cast<off_t>(size)); };
    if (uninterrupted(cut) < 0) return failed_to("truncate", path_, errno);
    return Done{};
  }

  /// File systems that cannot preallocate do without: then each sync also stores the new size.
  Outcome<Done> preallocate(std::uint64_t size) override {
    const auto extend = [&] {
      return ::fallocate(descriptor_.get(), 0, 0, static_cast<off_t>(size));
    };
    if (uninterrupted(extend) == 0) return Done{};
    if (errno != EOPNOTSUPP && errno != ENOSYS) return failed_to("extend", path_, errno);
    const Outcome<std::uint64_t> now = this->size();
    if (!now) return now.error();
    return *now < size ? truncate(size) : Outcome<Done>(Done{});
  }

  void set_path(const std::string& path) override { path_ = path; }

  Outcome<Done> sync() override {
    // The length is synced too when it changed. Other metadata, such as times, need not be.
    if (uninterrupted([&] { return ::fdatasync(descriptor_.get()); }) < 0) {
      return failed_to("sync", path_, errno);
    }
    return Done{};
  }

 private:
  Descriptor descriptor_;
  std::string path_;
};

std::string parent_of(const std::string& path) {
  const std::size_t last = path.find_last_not_of('/');
  const std::size_t slash = path.find_last_of('/', last);
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// What a file system itself keeps in a volume: in its root, or in each directory. A file of that
/// name, or a link, is somebody's.
bool is_of_volume(int directory, const dirent& entry) {
  constexpr std::array<std::string_view, 4> kNames = {"lost+found", ".snapshot", ".snapshots",
                                                      ".zfs"};
  if (std::ranges::find(kNames, entry.d_name) == kNames.end()) return false;
  struct stat status = {};
  return ::fstatat(directory, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(status.st_mode);
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

Outcome<Done> PosixFileSystem::ensure_directory(const std::string& path) {
  // Without the sync, a power cut could take the directory with the journal in it.
  if (::mkdir(path.c_str(), kDirectoryMode) == 0) return sync_directory(parent_of(path));
  if (errno != EEXIST) return failed_to("create directory", path, errno);
  struct stat status = {};
  if (::stat(path.c_str(), &status) < 0) return failed_to("examine", path, errno);
  if (!S_ISDIR(status.st_mode)) return failed_to("use", path, ENOTDIR);
  return Done{};
}

Outcome<std::vector<std::string>> PosixFileSystem::list(const std::string& directory) {
  Descriptor descriptor = open_directory(directory);
  if (!descriptor.is_open()) return failed_to("list", directory, errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(descriptor.get()), ::closedir);
  if (!stream) return failed_to("list", directory, errno);
  // It closes with the stream.
  (void)descriptor.release();
  std::vector<std::string> names;
  // A null entry means the end or a failure, and only errno tells which.
  errno = 0;
  while (const dirent* const entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == ".." || is_of_volume(::dirfd(stream.get()), *entry)) continue;
    names.emplace_back(name);
  }
  if (errno != 0) return failed_to("list", directory, errno);
  return names;
}

Outcome<std::unique_ptr<File>> PosixFileSystem::create(const std::string& path) {
  // A file of that name would be a segment or a reserve that we do not know of.
  Descriptor descriptor = open_descriptor(path, O_RDWR | O_CREAT | O_EXCL);
  if (!descriptor.is_open()) return failed_to("create", path, errno);
  const Place place = place_of(path);
  const bool is_locked = place.directory != AT_FDCWD;
  give_to_owner_of(place.directory, is_locked ? "." : parent_of(path).c_str(), descriptor);
  return std::unique_ptr<File>(std::make_unique<PosixFile>(std::move(descriptor), path));
}

Outcome<std::unique_ptr<File>> PosixFileSystem::open(const std::string& path, Access access) {
  // What is no file, such as a pipe without a writer, must not keep us waiting.
  const int flags = (access == Access::kRead ? O_RDONLY : O_RDWR) | O_NONBLOCK;
  Descriptor descriptor = open_descriptor(path, flags);
  if (!descriptor.is_open()) return failed_to("open", path, errno);
  struct stat status = {};
  if (::fstat(descriptor.get(), &status) < 0) return failed_to("examine", path, errno);
  if (!S_ISREG(status.st_mode)) return Problem{path + " is not a file"};
  return std::unique_ptr<File>(std::make_unique<PosixFile>(std::move(descriptor), path));
}

Outcome<Done> PosixFileSystem::link(const std::string& path, const std::string& new_path) {
  const Place from = place_of(path);
  const Place to = place_of(new_path);
  if (::linkat(from.directory, from.name.c_str(), to.directory, to.name.c_str(), 0) == 0) {
    return Done{};
  }
  return failed_to("link", new_path, errno);
}

Outcome<Done> PosixFileSystem::rename(const std::string& path, const std::string& new_path) {
  const Place from = place_of(path);
  const Place to = place_of(new_path);
  if (::renameat(from.directory, from.name.c_str(), to.directory, to.name.c_str()) == 0) {
    return Done{};
  }
  return failed_to("rename", path, errno);
}

Outcome<bool> PosixFileSystem::has_other_name(const std::string& path) {
  const Place place = place_of(path);
  struct stat status = {};
  if (::fstatat(place.directory, place.name.c_str(), &status, 0) < 0) {
    return failed_to("examine", path, errno);
  }
  return status.st_nlink > 1;
}

Outcome<Done> PosixFileSystem::remove(const std::string& path) {
  const Place place = place_of(path);
  if (::unlinkat(place.directory, place.name.c_str(), 0) < 0) {
    return failed_to("remove", path, errno);
  }
  return Done{};
}

Outcome<std::uint64_t> PosixFileSystem::free_space(const std::string& directory) {
  struct statvfs status = {};
  const std::optional<int> locked = locked_as(directory);
  const int answer = locked ? ::fstatvfs(*locked, &status) : ::statvfs(directory.c_str(), &status);
  if (answer < 0) return failed_to("examine the disk of", directory, errno);
  // What is available to us, without the blocks kept for root.
  return std::uint64_t{status.f_bavail} * status.f_frsize;
}

std::uint64_t PosixFileSystem::volume_bytes(const std::string& directory) {
  struct statvfs status = {};
  if (::statvfs(directory.c_str(), &status) < 0) return 0;
  return std::uint64_t{status.f_blocks} * status.f_frsize;
}

Outcome<Done> PosixFileSystem::sync_directory(const std::string& path) {
  const auto sync = [&](int descriptor) -> Outcome<Done> {
    if (uninterrupted([&] { return ::fsync(descriptor); }) == 0) return Done{};
    return failed_to("sync", path, errno);
  };
  if (const std::optional<int> locked = locked_as(path)) return sync(*locked);
  const Descriptor directory = open_directory(path);
  if (!directory.is_open()) return failed_to("open", path, errno);
  return sync(directory.get());
}

// ---- locked directories -------------------------------------------------------------------------

/// While it lives, its file system finds the directory by its descriptor.
class PosixFileSystem::PosixLock final : public Lock {
 public:
  PosixLock(PosixFileSystem& files, std::string path, DirectoryLock lock)
      : files_(files), path_(std::move(path)), lock_(std::move(lock)) {
    const std::lock_guard guard(files_.mutex_);
    files_.locked_.emplace(path_, lock_.descriptor());
  }
  ~PosixLock() override {
    const std::lock_guard guard(files_.mutex_);
    files_.locked_.erase(path_);
  }
  PosixLock(const PosixLock&) = delete;
  PosixLock& operator=(const PosixLock&) = delete;

  Outcome<Done> check() override { return lock_.check(); }
  [[nodiscard]] bool is_on_directory() const override { return lock_.is_on_directory(); }

 private:
  PosixFileSystem& files_;
  const std::string path_;
  const DirectoryLock lock_;
};

Outcome<std::unique_ptr<Lock>> PosixFileSystem::lock(const std::string& directory) {
  Outcome<DirectoryLock> lock = DirectoryLock::take(directory);
  if (!lock) return lock.error();
  return std::unique_ptr<Lock>(std::make_unique<PosixLock>(*this, directory, std::move(*lock)));
}

std::optional<int> PosixFileSystem::locked_as(const std::string& directory) const {
  const std::lock_guard guard(mutex_);
  const auto found = locked_.find(directory);
  return found == locked_.end() ? std::nullopt : std::optional<int>(found->second);
}

PosixFileSystem::Place PosixFileSystem::place_of(const std::string& path) const {
  const std::size_t slash = path.find_last_of('/');
  if (slash != std::string::npos) {
    const std::optional<int> locked = locked_as(path.substr(0, slash));
    if (locked) return {.directory = *locked, .name = path.substr(slash + 1)};
  }
  return {.directory = AT_FDCWD, .name = path};
}

Descriptor PosixFileSystem::open_descriptor(const std::string& path, int flags) const {
  const Place place = place_of(path);
  return Descriptor(uninterrupted(
      [&] { return ::openat(place.directory, place.name.c_str(), flags | O_CLOEXEC, kFileMode); }));
}

Descriptor PosixFileSystem::open_directory(const std::string& path) const {
  const std::optional<int> locked = locked_as(path);
  const int at = locked.value_or(AT_FDCWD);
  const char* const name = locked ? "." : path.c_str();
  return Descriptor(
      uninterrupted([&] { return ::openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
}

// ---- whole files --------------------------------------------------------------------------------

Outcome<std::string> read_up_to(FileSystem& files, const std::string& path,
                                std::uint64_t bytes_max) {
  const auto file = files.open(path, FileSystem::Access::kRead);
  if (!file) return file.error();
  const Outcome<std::uint64_t> size = (*file)->size();
  if (!size) return size.error();
  std::string bytes(std::min(*size, bytes_max), '\0');
  const Outcome<std::size_t> got = (*file)->read(0, bytes);
  if (!got) return got.error();
  bytes.resize(*got);
  return bytes;
}

Outcome<Done> write_new(FileSystem& files, const std::string& path, std::string_view bytes) {
  (void)files.remove(path);
  const auto file = files.create(path);
  if (!file) return file.error();
  const Outcome<Done> written = (*file)->write(0, {&bytes, 1});
  return written ? (*file)->sync() : written;
}

std::string draft_of(const std::string& path) {
  return path + ".part";
}

Outcome<Done> replace_file(FileSystem& files, const std::string& path, std::string_view bytes) {
  const std::string draft = draft_of(path);
  if (auto written = write_new(files, draft, bytes); !written) return written;
  if (auto named = files.rename(draft, path); !named) return named;
  const std::string directory = std::filesystem::path(path).parent_path();
  return files.sync_directory(directory.empty() ? "." : directory);
}

}  // namespace millrace::journal
