#include "tools/backup/backup_files.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "journal/file/file_system.hpp"
#include "journal/file/log_files.hpp"
#include "journal/file/log_format.hpp"
#include "tools/backup/backup_directory.hpp"
#include "tools/backup/segment_batches.hpp"
#include "tools/directory/places.hpp"
#include "tools/directory/progress_line.hpp"

namespace millrace::tools {
namespace {

std::string path_of(const std::string& directory, const BackupFile& file) {
  return directory + "/" + journal::segment_name(file.first);
}

/// nullopt: it is not there.
std::optional<std::uintmax_t> size_of(const std::string& path) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  return error ? std::nullopt : std::optional(bytes);
}

/// Segments that a backup, which was cut off or failed, has left.
std::size_t count_unlisted(const std::string& directory, const BackupManifest& manifest) {
  journal::PosixFileSystem files;
  const auto segments = journal::segments_in(files, directory);
  if (!segments) return 0;
  return static_cast<std::size_t>(
      std::ranges::count_if(*segments, [&](Lsn first) { return manifest.find(first) == nullptr; }));
}

struct Compared {
  std::size_t matching = 0;   ///< files that have the checksum of the manifest
  std::size_t elsewhere = 0;  ///< files that are not here, and need not be
  std::vector<std::string> damages;
};

Compared compare(const std::string& directory, const BackupManifest& manifest) {
  Compared found{.damages = look_at_files(directory, manifest)};
  ProgressLine progress("checked", manifest.files.back().end() - manifest.files.front().first,
                        ProgressLine::Unit::kBytes);
  for (const BackupFile& file : manifest.files) {
    const std::string path = path_of(directory, file);
    const auto size = size_of(path);
    if (!size && found.damages.empty()) ++found.elsewhere;
    if (size.value_or(0) < file.bytes) continue;
    const auto bytes = read_start(path, file.bytes);
    if (!bytes) {
      found.damages.push_back(bytes.error().text);
    } else if (sha256_of(*bytes) != file.sha256) {
      found.damages.push_back(path + " does not match its checksum in the manifest");
    } else {
      ++found.matching;
    }
    progress.show(file.end() - manifest.files.front().first);
  }
  return found;
}

}  // namespace

std::vector<std::string> look_at_files(const std::string& directory,
                                       const BackupManifest& manifest) {
  std::vector<std::string> wrong;
  journal::PosixFileSystem files;
  const auto extent = journal::extent_in(files, directory);
  const bool is_known = extent && extent->has_value();
  bool has_earlier = false;
  for (const BackupFile& file : manifest.files) {
    const std::string path = path_of(directory, file);
    const auto bytes = size_of(path);
    const bool must_be_here = has_earlier || (is_known && file.first >= (*extent)->oldest);
    if (!bytes && must_be_here) wrong.push_back(path + " is missing");
    // The last one is longer where a backup was interrupted.
    if (bytes && *bytes < file.bytes) wrong.push_back(path + " is shorter than the manifest says");
    has_earlier = has_earlier || bytes.has_value();
  }
  return wrong;
}

Outcome<JournalReport> check_backup(const std::string& directory) {
  const auto manifest = read_manifest(directory + "/" + kManifestName);
  if (!manifest) return JournalReport{.text = {}, .damage = manifest.error().text};
  const Compared compared = compare(directory, *manifest);
  JournalReport report;
  report.text = "files that match the manifest: " + std::to_string(compared.matching) + "\n";
  if (compared.elsewhere > 0) {
    report.text += "files that an earlier backup has: " + std::to_string(compared.elsewhere) + "\n";
  }
  for (const std::string& damage : compared.damages) report.text += "damage: " + damage + "\n";
  if (!compared.damages.empty()) {
    report.damage = compared.damages.front();
    return report;
  }
  const std::string with_it = compared.elsewhere > 0 ? "together with that one, " : "";
  report.text += "can be restored: " + with_it + "any time " + times_text(*manifest) + "\n";
  const std::size_t unlisted = count_unlisted(directory, *manifest);
  if (unlisted > 0) {
    report.text += "segments of a backup that did not end, which are not counted: " +
                   std::to_string(unlisted) + "\n";
  }
  const bool is_one_log =
      compared.elsewhere == 0 && unlisted == 0 && runs_of(*manifest).size() == 1;
  if (!is_one_log) {
    report.text += "no damage\n";
    return report;
  }
  auto log = check_journal(directory);
  if (!log) return log.error();
  report.text += log->text;
  report.damage = log->damage;
  return report;
}

Outcome<JournalReport> check_directory(const std::string& directory) {
  return is_backup(directory) ? check_backup(directory) : check_journal(directory);
}

}  // namespace millrace::tools
