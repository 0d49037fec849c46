#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "journal/file/file_system.hpp"
#include "journal/file/log_format.hpp"

/// The file `starts` of a log: which processes wrote to it, one after the other. It tells a log
/// that went on from one of another server, and from one that was set back, when compaction has
/// removed what the two had in common.
///
///     starts = start*            ; docs/journal-format.md
namespace millrace::journal {

inline constexpr const char* kStartsName = "starts";

/// The file has at most 43,690 starts. Then it begins anew, and nobody knows what wrote the log
/// before.
inline constexpr std::uint64_t kStartsBytesMax = std::uint64_t{1} << 20;

class LogStarts {
 public:
  /// Reads the bytes of the file. The last start may be torn: its process wrote nothing to the log.
  /// Other damage leaves no start.
  static LogStarts of(std::string_view bytes);

  /// The process that wrote the last bytes of this log up to `end`; nullopt: it is not known. Two
  /// logs for which it is the same one have the same bytes up to there, as far as they have any.
  [[nodiscard]] std::optional<std::uint64_t> writer_until(Lsn end) const;

  /// Of the file: where the next start belongs.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  std::vector<LogStart> starts_;  ///< each later in the log than the one before
  std::uint64_t bytes_ = 0;
};

/// Without the file there is no start.
[[nodiscard]] Outcome<LogStarts> starts_in(FileSystem& files, const std::string& directory);

/// To be called before the process writes its first frame. `exists`: the directory has the file. On
/// stable storage when it returns. Where the disk has no room for it, there is no file then.
[[nodiscard]] Outcome<Done> note_start(FileSystem& files, const std::string& directory, bool exists,
                                       const LogStart& start);

}  // namespace millrace::journal
