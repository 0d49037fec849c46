#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "core/model/types.hpp"
#include "tools/backup/restore.hpp"
#include "tools/directory/check.hpp"

namespace CLI {
class App;
}

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

/// What the command line says of a backup, or of a restore.
struct BackupTexts {
  BackupChoice backup;
  std::string to;  ///< of a backup, given with its flag
  std::string keep;
  RestoreChoice restore;
  std::string until;
};

/// Adds the command with its options. `texts` must outlive it.
CLI::App* add_backup_command(CLI::App& app, BackupTexts& texts);
CLI::App* add_restore_command(CLI::App& app, BackupTexts& texts);

/// What they mean. A problem: one of them makes no sense.
[[nodiscard]] Outcome<BackupChoice> backup_of(const BackupTexts& texts);
[[nodiscard]] Outcome<RestoreChoice> restore_of(const BackupTexts& texts);

}  // namespace millrace::tools
