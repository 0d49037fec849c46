#pragma once

#include <string>

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

}  // namespace millrace::journal
