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
#include <system_error>
#include <utility>

namespace millrace::journal {
namespace {

/// For the owner only: jobs may hold secrets.
constexpr mode_t kFileMode = 0600;
constexpr mode_t kDirectoryMode = 0700;

Problem failed_to(std::string_view verb, const std::string& path, int error) {
  return Problem{.text = "cannot " + std::string(verb) + " " + path + ": " +
                         std::system_category().message(error),
                 .is_out_of_space = error == ENOSPC || error == EDQUOT};
}

/// Owns a file descriptor; negative: none.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }

 private:
  int number_;
};

/// Calls again when a signal came between.
template <typename Call>
auto uninterrupted(Call call) {
  auto answer = call();
  while (answer < 0 && errno == EINTR) answer = call();
  return answer;
}

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
      if (got < 0) return failed_to("read", path_, errno);
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

class PosixLock final : public Lock {
 public:
  explicit PosixLock(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

 private:
  Descriptor descriptor_;
};

Descriptor open_descriptor(const std::string& path, int flags) {
  return Descriptor(
      uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, kFileMode); }));
}

std::string parent_of(const std::string& path) {
  const std::size_t last = path.find_last_not_of('/');
  const std::size_t slash = path.find_last_of('/', last);
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
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

}  // namespace

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
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(directory.c_str()), ::closedir);
  if (!stream) return failed_to("list", directory, errno);
  std::vector<std::string> names;
  // A null entry means the end or a failure, and only errno tells which.
  errno = 0;
  while (const dirent* const entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return failed_to("list", directory, errno);
  return names;
}

Outcome<std::unique_ptr<File>> PosixFileSystem::create(const std::string& path) {
  // A file of that name would be a segment or a reserve that we do not know of.
  Descriptor descriptor = open_descriptor(path, O_RDWR | O_CREAT | O_EXCL);
  if (!descriptor.is_open()) return failed_to("create", path, errno);
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
  if (::link(path.c_str(), new_path.c_str()) == 0) return Done{};
  return failed_to("link", new_path, errno);
}

Outcome<Done> PosixFileSystem::rename(const std::string& path, const std::string& new_path) {
  if (::rename(path.c_str(), new_path.c_str()) == 0) return Done{};
  return failed_to("rename", path, errno);
}

Outcome<bool> PosixFileSystem::has_other_name(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) < 0) return failed_to("examine", path, errno);
  return status.st_nlink > 1;
}

Outcome<Done> PosixFileSystem::remove(const std::string& path) {
  if (::unlink(path.c_str()) < 0) return failed_to("remove", path, errno);
  return Done{};
}

Outcome<std::uint64_t> PosixFileSystem::free_space(const std::string& directory) {
  struct statvfs status = {};
  if (::statvfs(directory.c_str(), &status) < 0) {
    return failed_to("examine the disk of", directory, errno);
  }
  // What is available to us, without the blocks kept for root.
  return std::uint64_t{status.f_bavail} * status.f_frsize;
}

Outcome<Done> PosixFileSystem::sync_directory(const std::string& path) {
  const Descriptor directory = open_descriptor(path, O_RDONLY | O_DIRECTORY);
  if (!directory.is_open()) return failed_to("open", path, errno);
  if (uninterrupted([&] { return ::fsync(directory.get()); }) < 0) {
    return failed_to("sync", path, errno);
  }
  return Done{};
}

/// The lock is flock's, which the system drops however the process ends; the pid in the file only
/// tells people who it was.
Outcome<std::unique_ptr<Lock>> PosixFileSystem::lock(const std::string& path) {
  Descriptor file = open_descriptor(path, O_RDWR | O_CREAT);
  if (!file.is_open()) return failed_to("open", path, errno);
  if (uninterrupted([&] { return ::flock(file.get(), LOCK_EX | LOCK_NB); }) < 0) {
    if (errno != EWOULDBLOCK) return failed_to("lock", path, errno);
    return Problem{parent_of(path) + " is in use by another process" + holder_of(file)};
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  // A full disk has no room for it, and does not matter.
  if (::pwrite(file.get(), pid.data(), pid.size(), 0) == static_cast<ssize_t>(pid.size())) {
    (void)!::ftruncate(file.get(), static_cast<off_t>(pid.size()));
  }
  return std::unique_ptr<Lock>(std::make_unique<PosixLock>(std::move(file)));
}

}  // namespace millrace::journal
