#pragma once

#include <string>

#include "base/result.hpp"
#include "tools/backup/backup.hpp"
#include "tools/backup/restore.hpp"

namespace CLI {
class App;
}

namespace millrace::tools {

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
