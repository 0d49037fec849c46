#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "journal/file/file_system.hpp"
#include "journal/file/log_format.hpp"

namespace millrace::journal {

/// What a backup has of a segment: whole frames from its beginning.
struct BackupPart {
  std::string path;  ///< of the segment's file, which may be longer
  SegmentHeader header;
  std::uint64_t bytes = 0;
  bool is_done = false;  ///< nobody will write to the file again
};

/// Where a backup goes.
class BackupTarget {
 public:
  virtual ~BackupTarget() = default;

  /// A try begins, maybe not the first one: what was put before is not of the backup, since the log
  /// has lost a segment meanwhile.
  virtual Outcome<Done> begin() = 0;

  /// The parts come in the order of the log. A problem ends the try.
  virtual Outcome<Done> put(const BackupPart& part) = 0;
};

/// Gives `target` the log of `directory` as it was at one moment during the call, and answers the
/// parts. A server may be using the directory: it is not disturbed, and what it had acknowledged
/// before the call is in the backup.
[[nodiscard]] Outcome<std::vector<BackupPart>> back_up(FileSystem& files,
                                                       const std::string& directory,
                                                       BackupTarget& target);

/// Makes `destination`, which must not exist or be empty, hold such a backup. Returns when it is on
/// stable storage. After a problem `destination` is empty.
[[nodiscard]] Outcome<std::vector<BackupPart>> back_up(FileSystem& files,
                                                       const std::string& directory,
                                                       const std::string& destination);

/// Gives the part a file of its own, on stable storage but for its name. A file that is done never
/// changes, and is shared where the file system can do that (hard links), else copied. Nothing may
/// have that name.
[[nodiscard]] Outcome<Done> place(FileSystem& files, const BackupPart& part, const std::string& to);

/// Says in `directory` which segments it must have: so that a start, and `check`, notice when one
/// is missing. Replaces what is there. On stable storage but for the name.
[[nodiscard]] Outcome<Done> write_extent(FileSystem& files, const std::string& directory,
                                         const LogExtent& extent);

}  // namespace millrace::journal
