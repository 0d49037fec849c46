#pragma once

#include <cstddef>
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
///     starts = start*            ; docs/internals/journal-format.md
namespace millrace::journal {

inline constexpr const char* kStartsName = "starts";

/// Then the oldest one is forgotten. As many as fit into 64 KiB.
inline constexpr std::size_t kStartsMax = 2730;

class LogStarts {
 public:
  /// Reads the bytes of the file. None are known when any of them is wrong, or missing at the end.
  static LogStarts of(std::string_view bytes);

  [[nodiscard]] bool is_empty() const { return starts_.empty(); }
  [[nodiscard]] std::string bytes() const;

  /// Those that wrote nothing which is left in the log are forgotten.
  void add(const LogStart& start);
  void forget_oldest() { starts_.erase(starts_.begin()); }

  /// The process that wrote the last bytes of this log up to `end`; where nobody is known to have
  /// written before `end`, the first one that started there. nullopt: it is not known. Two logs
  /// for which it is the same one have the same bytes up to there, as far as they have any.
  [[nodiscard]] std::optional<std::uint64_t> writer_until(Lsn end) const;

 private:
  /// Each is later in the log than the one before. The second one may be where the first one is.
  std::vector<LogStart> starts_;
};

/// Of the file, if it `exists` in the directory. None: it is missing or damaged. A problem: it
/// cannot be read.
[[nodiscard]] Outcome<LogStarts> starts_in(FileSystem& files, const std::string& directory,
                                           bool exists);

/// The refusal of a start that cannot use the file.
[[nodiscard]] Problem unusable_starts(const Problem& problem);

/// To be called before the process writes its first frame. `exists`: the directory has the file. On
/// stable storage when it returns. Where the disk has no room at all for it, there is no file then.
[[nodiscard]] Outcome<Done> note_start(FileSystem& files, const std::string& directory, bool exists,
                                       const LogStart& start);

}  // namespace millrace::journal
