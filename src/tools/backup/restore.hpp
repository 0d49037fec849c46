#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/model/types.hpp"
#include "tools/directory/check.hpp"

namespace millrace::tools {

/// What `millrace restore` is told.
struct RestoreChoice {
  /// Directories of backups, or streams in files, or `kStream`. Together they have all files that
  /// the latest of them needs.
  std::vector<std::string> from;
  std::string to;                  ///< the new data directory
  std::optional<Time> until = {};  ///< of the wall clock; not set: the end of the latest backup
};

/// Makes a data directory of a backup, as the journal was when it was made, or at a time. Each file
/// is compared with its checksum first. Reports what is in it.
///
/// After a problem `to` is as it was. When the process is killed, no server starts there, and the
/// next restore begins again.
[[nodiscard]] Outcome<JournalReport> restore_journal(const RestoreChoice& choice);

/// RFC 3339, of which seconds may be left out: `2026-11-22T10:00Z`.
[[nodiscard]] std::optional<Time> parse_until(std::string_view text);

}  // namespace millrace::tools
