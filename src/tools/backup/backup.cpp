#include "tools/backup/backup.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/duration.hpp"
#include "faktory/json/timestamp.hpp"
#include "http/kit/text.hpp"
#include "journal/file/backup.hpp"
#include "journal/file/log_files.hpp"
#include "journal/file/log_starts.hpp"
#include "server/process/clock.hpp"
#include "tools/backup/backup_directory.hpp"
#include "tools/backup/backup_files.hpp"
#include "tools/backup/manifest.hpp"
#include "tools/backup/new_segments.hpp"
#include "tools/directory/marks.hpp"
#include "tools/directory/places.hpp"

namespace millrace::tools {
namespace {

/// What the earlier backup and this one have together.
struct Grown {
  BackupManifest manifest;
  std::size_t new_files = 0;
  std::optional<Lsn> first_new;
  std::uint64_t new_bytes = 0;
  bool has_gap = false;    ///< compaction was faster than the backups
  bool is_proven = false;  ///< that both are of one journal
};

Grown grow(const std::optional<BackupManifest>& since,
           const std::vector<journal::BackupPart>& parts, const std::vector<ReadFile>& taken,
           const journal::LogStarts& starts, Time now) {
  Grown grown{.manifest = since.value_or(BackupManifest{})};
  auto& [writer, points, files] = grown.manifest;
  BackupPoint point{.begin = parts.front().header.first};
  grown.has_gap = !points.empty() && point.begin > points.back().end;
  // After a gap the log is read from its beginning.
  if (!points.empty() && !grown.has_gap) point.told = points.back().told;
  Time last_recorded = point.told;
  const bool has_shared = !files.empty() && point.begin <= files.back().first;
  grown.is_proven = !since || has_shared || writer.has_value();
  for (const ReadFile& read : taken) {
    if (!files.empty() && files.back().first == read.file.first) files.pop_back();
    files.push_back(read.file);
    if (read.told) last_recorded = *read.told;
    if (read.latest) point.told = std::max(point.told, *read.latest);
    if (!grown.first_new) grown.first_new = read.file.first;
    ++grown.new_files;
    grown.new_bytes += read.file.bytes;
  }
  point.end = files.back().end();
  writer = starts.writer_until(point.end);
  if (point.told == Time{}) point.told = last_recorded = now;
  point.at = std::max(now, last_recorded);
  // Of two that end together, one tells all: nothing has happened in between.
  if (!points.empty() && points.back().end == point.end) {
    points.back().at = point.at;
  } else {
    points.push_back(point);
  }
  return grown;
}

/// What can be restored, and what somebody should know.
std::string end_text(const Grown& grown) {
  std::string text;
  const auto& points = grown.manifest.points;
  if (grown.has_gap) {
    text +=
        "warning: compaction has removed segments that no backup has: make backups more often "
        "to restore any time after " +
        faktory::format_time(points[points.size() - 2].at) + "\n";
  }
  if (!grown.is_proven) {
    text +=
        "warning: the earlier backup does not say of which journal it is: it may be of another "
        "one\n";
  }
  if (!grown.manifest.writer) {
    text +=
        std::string("warning: the journal's file `") + journal::kStartsName +
        "` does not tell who wrote its end: the next backup may not know that it is of the same "
        "journal\n";
  }
  return text + "can be restored: any time " + times_text(grown.manifest) + "\n";
}

std::string tell(const Grown& grown) {
  return "new: " + http::count_of(grown.new_files, "segment") + ", " +
         std::to_string(grown.new_bytes) +
         " bytes\nin the backup: " + http::count_of(grown.manifest.files.size(), "segment") + "\n" +
         end_text(grown);
}

Outcome<std::optional<BackupManifest>> read_since(const std::string& since) {
  if (since.empty()) return std::optional<BackupManifest>();
  std::error_code error;
  const auto status = std::filesystem::status(since, error);
  if (!std::filesystem::exists(status)) {
    return Problem{"--since: there is no backup and no manifest at " + since};
  }
  const bool is_directory = std::filesystem::is_directory(status);
  auto manifest = read_manifest(is_directory ? since + "/" + kManifestName : since);
  if (!manifest) return manifest.error();
  if (is_directory) {
    const std::vector<std::string> wrong = look_at_files(since, *manifest);
    if (!wrong.empty()) return Problem{"--since: " + wrong.front()};
  }
  return std::optional(std::move(*manifest));
}

/// The process that wrote the end of the earlier backup must have written the journal until there.
/// So it is the same one also where no segment is left that both have, and not one that was
/// restored from the backup.
Outcome<Done> check_writer(const std::optional<BackupManifest>& since, const BackupChoice& choice) {
  if (!since || !since->writer) return Done{};
  journal::PosixFileSystem files;
  const auto names = journal::names_in(files, choice.directory);
  // That there is no journal is told by the copy.
  if (!names || names->segments.empty()) return Done{};
  const auto starts = journal::starts_in(files, choice.directory, names->has_starts);
  if (!starts) return starts.error();
  if (starts->writer_until(since->points.back().end) == since->writer) return Done{};
  const std::string file = choice.directory + "/" + journal::kStartsName;
  const std::string advice = "; make a full backup in a new directory";
  if (starts->is_empty()) {
    return Problem{file +
                   " is missing or damaged, so nothing shows that the journal goes on where " +
                   choice.since + " ends" + advice};
  }
  return Problem{
      choice.directory + " does not go on where " + choice.since +
      " ends: it is another journal, or was restored, or set back, as by a power cut, or " + file +
      " was lost since" + advice};
}

/// The copy has the damage of the journal, so the damaged file of the journal is named.
Problem cause_of(const Problem& problem, const std::string& directory) {
  const Outcome<JournalReport> original = check_journal(directory);
  return original && original->damage ? Problem{*original->damage} : problem;
}

Outcome<Done> write_manifest_file(const BackupChoice& choice, const BackupManifest& manifest) {
  if (choice.manifest.empty()) return Done{};
  journal::PosixFileSystem files;
  return journal::replace_file(files, choice.manifest, encode(manifest));
}

/// Before anything is written: the file is replaced when all else is done.
Outcome<Done> check_manifest_file(const BackupChoice& choice) {
  const std::string& path = choice.manifest;
  if (path.empty()) return Done{};
  std::error_code error;
  if (is_same_place(path, choice.to)) return Problem{path + " cannot be both DEST and a manifest"};
  const std::filesystem::path parent = std::filesystem::absolute(path, error).parent_path();
  if (!std::filesystem::is_directory(parent, error)) {
    return Problem{parent.string() + " is not a directory"};
  }
  journal::PosixFileSystem files;
  const auto names = journal::names_in(files, parent);
  const bool is_of_log = names && (names->has_extent || !names->segments.empty());
  const bool is_in_target =
      std::filesystem::is_directory(choice.to, error) && lies_in(path, choice.to);
  if (is_of_log || is_in_target || lies_in(path, choice.directory)) {
    return Problem{path + " must not be inside a journal or a backup"};
  }
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return Problem{path + " is not a file that can be replaced"};
  }
  return Done{};
}

/// Gives `target` what is new.
Outcome<Grown> copy_new(const BackupChoice& choice, const std::optional<BackupManifest>& before,
                        NewSegments& target, Time now) {
  if (auto fit = check_writer(before, choice); !fit) return fit.error();
  journal::PosixFileSystem files;
  const auto parts = journal::back_up(files, choice.directory, target);
  if (!parts) return cause_of(parts.error(), choice.directory);
  if (auto checked = target.check_end(*parts); !checked) return checked.error();
  const auto taken = target.read();
  if (!taken) return cause_of(taken.error(), choice.directory);
  // After the copy, in which the server may have started again.
  const auto starts = journal::starts_in(files, choice.directory, true);
  return grow(before, *parts, *taken, starts ? *starts : journal::LogStarts(), now);
}

Outcome<JournalReport> to_directory(const BackupChoice& choice, Time now) {
  const bool is_longer = is_growing(choice);
  auto directory = BackupDirectory::open(choice.to, choice.directory, is_longer);
  if (!directory) return directory.error();
  const auto before = is_longer ? directory->before() : read_since(choice.since);
  if (!before) return before.error();
  NewFiles target(*before ? &**before : nullptr, choice.since, choice.to);
  auto grown = copy_new(choice, *before, target, now);
  if (!grown) return grown.error();
  BackupManifest& manifest = grown->manifest;
  if (choice.keep) prune(manifest, now - *choice.keep, manifest.points.back().at);
  // A backup that begins at another one has what is new. There may be nothing.
  const bool is_part = *before && !is_longer;
  const Lsn first = is_part ? grown->first_new.value_or(manifest.files.back().end())
                            : manifest.files.front().first;
  if (auto finished = directory->finish(manifest, first); !finished) return finished.error();
  if (auto written = write_manifest_file(choice, manifest); !written) return written.error();
  if (*before) return JournalReport{.text = tell(*grown), .damage = {}};
  auto report = check_journal(choice.to);
  if (report) report->text += end_text(*grown);
  return report;
}

Outcome<JournalReport> to_stream(const BackupChoice& choice, Time now) {
  if (::isatty(STDOUT_FILENO) == 1) {
    return Problem{"a backup is not for a terminal: send it to a program, or to a file"};
  }
  const auto before = read_since(choice.since);
  if (!before) return before.error();
  TarWriter out(STDOUT_FILENO, "stdout");
  SentFiles target(*before ? &**before : nullptr, choice.since, out);
  const auto grown = copy_new(choice, *before, target, now);
  if (!grown) return grown.error();
  Outcome<Done> done = out.add(kManifestName, encode(grown->manifest));
  if (done) done = out.end();
  if (done) done = write_manifest_file(choice, grown->manifest);
  if (!done) return done.error();
  return JournalReport{.text = tell(*grown), .damage = {}};
}

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

bool is_growing(const BackupChoice& choice) {
  return !choice.since.empty() && is_same_place(choice.since, choice.to);
}

Outcome<JournalReport> back_up_journal(const BackupChoice& choice) {
  if (auto fit = refuse_unfinished_or_exported(choice.directory); !fit) return fit.error();
  if (is_backup(choice.directory)) {
    return Problem{choice.directory + " is a backup: copy the directory, or send it with tar"};
  }
  if (auto checked = check_manifest_file(choice); !checked) return checked.error();
  journal::PosixFileSystem files;
  if (const auto readable = files.list(choice.directory); !readable) return readable.error();
  // Everything that was acknowledged by now is in the backup.
  const Time now = server::SystemClock().now();
  return choice.to == kStream ? to_stream(choice, now) : to_directory(choice, now);
}

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
