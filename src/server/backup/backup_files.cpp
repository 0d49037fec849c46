#include "server/backup/backup_files.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "journal/file/log_format.hpp"
#include "server/backup/segment_batches.hpp"

namespace millrace::server {
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

}  // namespace

std::vector<std::string> look_at_files(const std::string& directory,
                                       const BackupManifest& manifest) {
  std::vector<std::string> wrong;
  bool has_earlier = false;
  for (const BackupFile& file : manifest.files) {
    const std::string path = path_of(directory, file);
    const auto bytes = size_of(path);
    if (!bytes && has_earlier) wrong.push_back(path + " is missing");
    // The last one is longer where a backup was interrupted.
    if (bytes && *bytes < file.bytes) wrong.push_back(path + " is shorter than the manifest says");
    has_earlier = has_earlier || bytes.has_value();
  }
  return wrong;
}

ManifestCheck compare_with_manifest(const std::string& directory) {
  const auto manifest = read_manifest(directory + "/" + kManifestName);
  if (!manifest) return {.damages = {manifest.error().text}};
  ManifestCheck check{.damages = look_at_files(directory, *manifest)};
  for (const BackupFile& file : manifest->files) {
    const std::string path = path_of(directory, file);
    if (size_of(path).value_or(0) < file.bytes) continue;
    const auto bytes = read_start(path, file.bytes);
    if (!bytes) {
      check.damages.push_back(bytes.error().text);
    } else if (sha256_of(*bytes) != file.sha256) {
      check.damages.push_back(path + " does not match its checksum in the manifest");
    } else {
      ++check.matching;
    }
  }
  return check;
}

}  // namespace millrace::server
