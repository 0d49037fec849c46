#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "server/backup/manifest.hpp"

/// The files of a backup in its directory, compared with its manifest.
namespace millrace::server {

/// What is wrong as far as names and sizes tell, a line each. The first files may be missing: a
/// backup that begins at another one has only what is new since then, if there is something.
[[nodiscard]] std::vector<std::string> look_at_files(const std::string& directory,
                                                     const BackupManifest& manifest);

struct ManifestCheck {
  std::size_t matching = 0;          ///< files that have the checksum of the manifest
  std::vector<std::string> damages;  ///< a line each
};

/// Reads the manifest and all files that are there.
[[nodiscard]] ManifestCheck compare_with_manifest(const std::string& directory);

}  // namespace millrace::server
