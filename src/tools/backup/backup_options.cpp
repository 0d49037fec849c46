#include "tools/backup/backup_options.hpp"

#include <CLI/CLI.hpp>
#include <optional>
#include <string_view>

#include "base/duration.hpp"

namespace millrace::tools {
namespace {

constexpr const char* kBackupFooter =
    "With --since, only newer segments are copied. DEST may be that backup: it then grows, and "
    "need not be there yet. With `-` for DEST, the backup is a stream of the tar format on "
    "stdout.\n"
    "Exit status 0: copied. 1: not copied; the journal may be damaged. 2: wrong arguments.";

constexpr const char* kRestoreFooter =
    "BACKUP is the directory of a backup, or a stream: a file, or `-` for stdin. Name all those "
    "that have files of the latest one.\n"
    "Exit status 0: restored. 1: not restored. 2: wrong arguments.";

}  // namespace

CLI::App* add_backup_command(CLI::App& app, BackupTexts& texts) {
  CLI::App* const command =
      app.add_subcommand("backup", "Copy a journal; its server may be running");
  command->add_option("DIR", texts.backup.directory, "The data directory; it is not changed")
      ->required()
      ->type_name("");
  command->add_option("DEST", texts.backup.to, "A new or empty directory, or -")->type_name("");
  command->option_defaults()->take_last();
  command->add_option("--to", texts.to, "The same as DEST")->type_name("DEST");
  command
      ->add_option("--since", texts.backup.since,
                   "An earlier backup, or its manifest: copy what is newer")
      ->type_name("BACKUP");
  command
      ->add_option("--keep", texts.keep,
                   "With --since DEST: drop history older than AGE, such as 7d")
      ->type_name("AGE");
  command
      ->add_option("--manifest", texts.backup.manifest,
                   "Write the manifest to this file too, for the next --since")
      ->type_name("FILE");
  command->footer(kBackupFooter);
  return command;
}

CLI::App* add_restore_command(CLI::App& app, BackupTexts& texts) {
  CLI::App* const command =
      app.add_subcommand("restore", "Restore a backup, optionally to a point in time");
  command->add_option("BACKUP", texts.restore.from, "A backup, and those that it goes on from")
      ->required()
      ->type_name("");
  command->option_defaults()->take_last();
  command->add_option("--to", texts.restore.to, "The new data directory")->type_name("DIR");
  command
      ->add_option("--until", texts.until,
                   "Leave out what was done later than this, such as 2026-11-22T10:00Z")
      ->type_name("TIME");
  command->footer(kRestoreFooter);
  return command;
}

Outcome<BackupChoice> backup_of(const BackupTexts& texts) {
  BackupChoice choice = texts.backup;
  if (!choice.to.empty() && !texts.to.empty())
    return Problem{"DEST and --to mean the same: give one of them"};
  if (choice.to.empty()) choice.to = texts.to;
  if (choice.to.empty()) return Problem{"DEST is required: a new directory, or - for stdout"};
  if (texts.keep.empty()) return choice;
  choice.keep = parse_duration(texts.keep);
  if (choice.keep.value_or(Duration{-1}) < Duration{}) {
    return Problem{"--keep needs a duration such as 7d or 36h"};
  }
  if (!is_growing(choice)) {
    return Problem{"--keep is for a backup that grows: give --since DEST too"};
  }
  return choice;
}

Outcome<RestoreChoice> restore_of(const BackupTexts& texts) {
  RestoreChoice choice = texts.restore;
  if (choice.to.empty()) return Problem{"--to is required: a new data directory"};
  if (texts.until.empty()) return choice;
  choice.until = parse_until(texts.until);
  if (choice.until) return choice;
  return Problem{"--until needs a time such as 2026-11-22T10:00Z or 2026-11-22T11:00:30+01:00"};
}

}  // namespace millrace::tools
