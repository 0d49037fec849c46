#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "journal/file/file_system.hpp"
#include "tools/backup/manifest.hpp"

namespace millrace::tools {

/// The directory that a backup is made in. It is locked while this lives.
///
/// A first backup that is not finished is taken away by the destructor, and the directory too where
/// it was made for it. When the process is killed instead, the next backup goes on with what is
/// there.
class BackupDirectory {
 public:
  /// A problem when the directory lies in `source`, cannot be made, or has anything but a backup
  /// that was begun. `is_longer`: it may have a whole one too.
  static Outcome<BackupDirectory> open(const std::string& path, const std::string& source,
                                       bool is_longer);

  BackupDirectory(BackupDirectory&&) noexcept;
  BackupDirectory& operator=(BackupDirectory&&) = delete;
  ~BackupDirectory();

  /// Of the whole backup that is there; nullopt: none is.
  [[nodiscard]] const std::optional<BackupManifest>& before() const { return before_; }

  /// From now on this is the backup. What it does not list is removed. A problem leaves the one
  /// before. `first`: the first file that must be here; an earlier backup has those before it.
  [[nodiscard]] Outcome<Done> finish(const BackupManifest& manifest, Lsn first);

 private:
  BackupDirectory(std::string path, bool was_there)
      : path_(std::move(path)), was_there_(was_there) {}

  Outcome<Done> begin(bool is_longer);
  void remove_others(const BackupManifest* manifest) const;

  std::string path_;
  bool was_there_;
  bool is_ours_ = false;  ///< nothing in it is of the user
  std::unique_ptr<journal::PosixFileSystem> files_ = std::make_unique<journal::PosixFileSystem>();
  std::unique_ptr<journal::Lock> lock_;
  std::optional<BackupManifest> before_;
};

}  // namespace millrace::tools
