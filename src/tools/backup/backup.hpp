#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "core/model/types.hpp"
#include "tools/directory/check.hpp"

namespace millrace::tools {

/// What `millrace backup` is told.
struct BackupChoice {
  std::string directory;  ///< with the journal; a server may be using it
  std::string to;         ///< a directory, or `kStream`
  /// The directory of an earlier backup, or a manifest: only newer segments are copied. Empty: all
  /// are. May be `to`, which need not be there yet.
  std::string since = {};
  std::string manifest = {};          ///< a file that gets the manifest too; empty: none
  std::optional<Duration> keep = {};  ///< times before that may be forgotten; not set: none
};

inline constexpr const char* kStream = "-";

/// Whether the earlier backup gets what is new.
[[nodiscard]] bool is_growing(const BackupChoice& choice);

/// Copies a journal, and reads the copy from end to end. Reports what is in the backup, and to
/// which times it can be restored. A damaged journal is a problem.
///
/// The backup becomes a backup, or a longer one, with the last step: its manifest. After a problem,
/// or a crash, `to` is what it was, except for files that the next try uses or removes.
[[nodiscard]] Outcome<JournalReport> back_up_journal(const BackupChoice& choice);

}  // namespace millrace::tools
