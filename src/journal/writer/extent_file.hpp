#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "journal/file/file_system.hpp"
#include "journal/file/log_format.hpp"

namespace millrace::journal {

/// The file that tells which segments there must be, so that a start notices when one is missing.
/// Where the disk has no room for it, it is left out: then only a gap tells of a missing segment.
class ExtentFile {
 public:
  /// `files` must outlive it.
  ExtentFile(FileSystem& files, const std::string& directory);

  /// Whether the directory has the file. To be called before `note`; without the call it has none.
  void resume(bool exists) { exists_ = exists; }

  /// On stable storage when it returns.
  [[nodiscard]] Outcome<Done> note(const LogExtent& extent);

 private:
  [[nodiscard]] Outcome<Done> open();
  [[nodiscard]] Outcome<Done> write(const LogExtent& extent);

  FileSystem& files_;
  const std::string directory_;
  const std::string path_;
  bool exists_ = false;         ///< in the directory
  std::unique_ptr<File> file_;  ///< null: it is not open
};

}  // namespace millrace::journal
