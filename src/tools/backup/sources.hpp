#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "tools/backup/manifest.hpp"

namespace millrace::tools {

/// What a restore has to take files from.
class BackupSources {
 public:
  /// Reads the manifests. Streams are unpacked into new directories in `scratch`, called after
  /// `kUnpackedPrefix`.
  static Outcome<BackupSources> open(const std::vector<std::string>& names,
                                     const std::string& scratch);

  /// Of the backup that was made last. It tells of the others too.
  [[nodiscard]] const BackupManifest& manifest() const { return manifest_; }
  /// What that backup is called in problems.
  [[nodiscard]] const std::string& name() const { return name_; }

  /// The path of that file of the manifest, which was compared with its checksum.
  [[nodiscard]] Outcome<std::string> find(const BackupFile& file) const;

 private:
  std::vector<std::string> directories_;
  BackupManifest manifest_;
  std::string name_;
};

inline constexpr const char* kUnpackedPrefix = "from-";

/// Writes the files of a backup's stream, `-` being stdin, into a new directory.
[[nodiscard]] Outcome<Done> unpack(const std::string& stream, const std::string& directory);

}  // namespace millrace::tools
