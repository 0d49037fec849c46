#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "tools/backup/manifest.hpp"
#include "tools/directory/check.hpp"

/// The files of a backup in its directory, compared with its manifest.
namespace millrace::tools {

/// What is wrong as far as names and sizes tell, a line each. The first files may be missing where
/// the backup begins at another one. Its file `extent` says so; one that was unpacked of a stream
/// has none.
[[nodiscard]] std::vector<std::string> look_at_files(const std::string& directory,
                                                     const BackupManifest& manifest);

/// Reads the manifest, and all files that are there; and where these are one whole log, the log.
/// Changes nothing. A gap between two backups is no damage, nor are files that an earlier backup
/// has.
[[nodiscard]] Outcome<JournalReport> check_backup(const std::string& directory);

/// `check_backup` of a directory with a manifest, else `check_journal`.
[[nodiscard]] Outcome<JournalReport> check_directory(const std::string& directory);

}  // namespace millrace::tools
