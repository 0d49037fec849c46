#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "journal/posix/descriptor.hpp"

namespace millrace::journal {

/// A directory that this process uses alone, for as long as it lives.
///
/// Two locks keep others out, both of flock, which the system drops however the process ends: that
/// of the directory itself, which nobody can remove, and that of the file `lock` in it, by which
/// older versions of the program go. The pid in the file only tells people who it was.
class DirectoryLock {
 public:
  /// The directory must exist; the file is created when missing. A problem when somebody else holds
  /// one of the two.
  static Outcome<DirectoryLock> take(const std::string& directory);

  /// The directory, whatever it is called by now.
  [[nodiscard]] int descriptor() const { return directory_.get(); }

  /// False where the file system cannot lock directories, as NFS: then only the file is locked.
  [[nodiscard]] bool is_on_directory() const { return is_on_directory_; }

  /// A problem when the directory is not the one at its path any more, or has another file `lock`:
  /// then another process may use what is there.
  [[nodiscard]] Outcome<Done> check() const;

 private:
  DirectoryLock(const std::string& path, Descriptor directory, Descriptor file,
                bool is_on_directory);

  std::string path_;           ///< as it was given
  std::string absolute_path_;  ///< symbolic links are kept, since they may be changed
  Descriptor directory_;
  Descriptor file_;
  bool is_on_directory_;
};

/// An open file. It closes when destroyed, without syncing. One thread uses one handle.
class File {
 public:
  virtual ~File() = default;

  /// Writes the parts one after the other from `offset` on. After a problem some of it may be
  /// there; one that is out of space may be tried again as a whole.
  virtual Outcome<Done> write(std::uint64_t offset, std::span<const std::string_view> parts) = 0;

  /// Fills `into` from `offset` on; answers how many bytes that were: fewer only at the file's end.
  /// A problem that is passing: the disk does not give some of these bytes (EIO).
  virtual Outcome<std::size_t> read(std::uint64_t offset, std::span<char> into) = 0;

  /// These bytes will soon be read; the system may fetch them in the meantime. Does not wait.
  virtual void expect(std::uint64_t /*offset*/, std::uint64_t /*size*/) {}

  virtual Outcome<std::uint64_t> size() = 0;

  /// Cuts the file, or extends it with zeros.
  virtual Outcome<Done> truncate(std::uint64_t size) = 0;

  /// Makes the file at least `size` long and finds room for it on the disk. What was not written
  /// before reads as zeros.
  virtual Outcome<Done> preallocate(std::uint64_t size) = 0;

  /// The file was renamed: problems name it so from now on.
  virtual void set_path(const std::string& /*path*/) {}

  /// Returns when the contents and the size are on stable storage. After a failure nobody knows
  /// what was stored, and trying again proves nothing.
  virtual Outcome<Done> sync() = 0;
};

/// What keeps others out of a directory, for as long as it lives.
class Lock {
 public:
  virtual ~Lock() = default;

  /// A problem when the directory is not the one at its path any more, or the lock was taken away:
  /// then another process may use what is there.
  [[nodiscard]] virtual Outcome<Done> check() = 0;

  /// False where the file system cannot lock a directory: then others are kept out only as long as
  /// nobody removes the file `lock` in it.
  [[nodiscard]] virtual bool is_on_directory() const { return true; }
};

/// All that the journal needs of a disk. Problems name the file and what the system said. May be
/// used from several threads.
class FileSystem {
 public:
  enum class Access { kRead, kReadWrite };

  virtual ~FileSystem() = default;

  /// Creates the directory, for its owner only, and makes it last; one that exists is left as it
  /// is. Its parent must exist.
  virtual Outcome<Done> ensure_directory(const std::string& path) = 0;

  /// The names in a directory, in no order. Left out is what a file system itself keeps in a
  /// volume: the directories `lost+found`, `.snapshot`, `.snapshots` and `.zfs`. So a volume that
  /// was just made is empty.
  virtual Outcome<std::vector<std::string>> list(const std::string& directory) = 0;

  /// Creates an empty file, for its owner only. One that exists is a problem.
  virtual Outcome<std::unique_ptr<File>> create(const std::string& path) = 0;

  virtual Outcome<std::unique_ptr<File>> open(const std::string& path, Access access) = 0;

  /// Gives a file a second name. A problem where the file system cannot do that.
  virtual Outcome<Done> link(const std::string& path, const std::string& /*new_path*/) {
    return Problem{path + " cannot have another name here"};
  }

  /// Gives a file another name instead of its present one. Nothing may have that name.
  virtual Outcome<Done> rename(const std::string& path, const std::string& new_path) = 0;

  /// Whether the file has another name too.
  virtual Outcome<bool> has_other_name(const std::string& path) = 0;

  virtual Outcome<Done> remove(const std::string& path) = 0;

  /// How many bytes the disk of that directory has room for.
  virtual Outcome<std::uint64_t> free_space(const std::string& directory) = 0;

  /// How long the disk of that directory is; 0: unknown.
  virtual std::uint64_t volume_bytes(const std::string& /*directory*/) { return 0; }

  /// Returns when the names created and removed in the directory are on stable storage.
  virtual Outcome<Done> sync_directory(const std::string& path) = 0;

  /// Takes a directory that exists, and the file `lock` in it, created when missing. A problem when
  /// somebody holds one of them, in this process or another; the text names the holder where it can
  /// be told.
  ///
  /// While the lock lives, paths that begin with `directory` mean that directory, also when it has
  /// another path by then.
  virtual Outcome<std::unique_ptr<Lock>> lock(const std::string& directory) = 0;
};

/// The first `bytes_max` bytes of a file, or all that it has.
[[nodiscard]] Outcome<std::string> read_up_to(FileSystem& files, const std::string& path,
                                              std::uint64_t bytes_max);

/// Writes a file, in place of one of that name, and syncs it.
[[nodiscard]] Outcome<Done> write_new(FileSystem& files, const std::string& path,
                                      std::string_view bytes);

/// A file under this name is being written.
[[nodiscard]] std::string draft_of(const std::string& path);

/// Writes a file so that it is whole or as it was, whatever happens. When it returns, the file
/// survives a power cut.
[[nodiscard]] Outcome<Done> replace_file(FileSystem& files, const std::string& path,
                                         std::string_view bytes);

/// The real disk.
class PosixFileSystem final : public FileSystem {
 public:
  Outcome<Done> ensure_directory(const std::string& path) override;
  Outcome<std::vector<std::string>> list(const std::string& directory) override;
  Outcome<std::unique_ptr<File>> create(const std::string& path) override;
  Outcome<std::unique_ptr<File>> open(const std::string& path, Access access) override;
  Outcome<Done> link(const std::string& path, const std::string& new_path) override;
  Outcome<Done> rename(const std::string& path, const std::string& new_path) override;
  Outcome<bool> has_other_name(const std::string& path) override;
  Outcome<Done> remove(const std::string& path) override;
  Outcome<std::uint64_t> free_space(const std::string& directory) override;
  std::uint64_t volume_bytes(const std::string& directory) override;
  Outcome<Done> sync_directory(const std::string& path) override;
  Outcome<std::unique_ptr<Lock>> lock(const std::string& directory) override;

 private:
  class PosixLock;

  /// For the calls of the system that go by a directory's descriptor.
  struct Place {
    int directory;  ///< or AT_FDCWD
    std::string name;
  };

  [[nodiscard]] std::optional<int> locked_as(const std::string& directory) const;
  [[nodiscard]] Place place_of(const std::string& path) const;
  [[nodiscard]] Descriptor open_descriptor(const std::string& path, int flags) const;
  [[nodiscard]] Descriptor open_directory(const std::string& path) const;

  mutable std::mutex mutex_;
  std::map<std::string, int> locked_;  ///< under the mutex; the descriptors of locked directories
};

}  // namespace millrace::journal
