#include "tools/backup/sources.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "journal/file/file_system.hpp"
#include "journal/file/log_format.hpp"
#include "journal/posix/descriptor.hpp"
#include "tools/backup/backup.hpp"
#include "tools/backup/backup_directory.hpp"
#include "tools/backup/segment_batches.hpp"
#include "tools/backup/tar.hpp"
#include "tools/directory/places.hpp"

namespace millrace::tools {
namespace {

Outcome<Done> unpack_from(TarReader& reader, const std::string& stream,
                          const std::string& directory) {
  bool has_manifest = false;
  for (;;) {
    const auto entry = reader.next();
    if (!entry) return entry.error();
    if (!*entry) break;
    const TarEntry& file = **entry;
    const auto bytes = reader.read(file);
    if (!bytes) return bytes.error();
    const bool is_manifest = file.name == kManifestName;
    // An archive of a backup's directory has more than a stream.
    const bool is_needed = is_manifest || journal::parse_segment_name(file.name);
    if (!file.is_file || !is_needed) continue;
    has_manifest = has_manifest || is_manifest;
    // A stream that was begun again has a file twice: the later one counts.
    if (auto written = write_new(directory + "/" + file.name, *bytes); !written) return written;
  }
  if (has_manifest) return Done{};
  return Problem{stream + " has no " + kManifestName + ": it is no backup, or not a whole one"};
}

/// By the log, and not by the clock, which may have been set back. Of two that end together, the
/// one with the longer history counts.
bool is_later(const BackupManifest& one, const BackupManifest& other) {
  const auto& points = one.points;
  const auto& its_points = other.points;
  if (points.back().end != its_points.back().end) {
    return points.back().end > its_points.back().end;
  }
  if (points.front().end != its_points.front().end) {
    return points.front().end < its_points.front().end;
  }
  return points.back().at > its_points.back().at;
}

bool is_directory(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

}  // namespace

Outcome<Done> unpack(const std::string& stream, const std::string& directory) {
  journal::PosixFileSystem files;
  if (auto made = files.ensure_directory(directory); !made) return made;
  const bool is_stdin = stream == kStream;
  const journal::Descriptor opened(is_stdin ? -1 : ::open(stream.c_str(), O_RDONLY | O_CLOEXEC));
  if (!is_stdin && !opened.is_open()) return Problem{stream + ": " + std::strerror(errno)};
  const std::string name = is_stdin ? "stdin" : stream;
  TarReader reader(is_stdin ? STDIN_FILENO : opened.get(), name);
  const Outcome<Done> done = unpack_from(reader, name, directory);
  return done ? files.sync_directory(directory) : done;
}

Outcome<BackupSources> BackupSources::open(const std::vector<std::string>& names,
                                           const std::string& scratch) {
  BackupSources sources;
  for (const std::string& name : names) {
    std::string directory = name;
    if (!is_directory(name)) {
      directory = scratch + "/" + kUnpackedPrefix + std::to_string(sources.directories_.size());
      if (auto unpacked = unpack(name, directory); !unpacked) return unpacked.error();
    }
    auto manifest = read_manifest(directory + "/" + kManifestName);
    if (!manifest) return manifest.error();
    if (sources.directories_.empty() || is_later(*manifest, sources.manifest_)) {
      sources.manifest_ = std::move(*manifest);
      sources.name_ = name == kStream ? "stdin" : name;
    }
    sources.directories_.push_back(std::move(directory));
  }
  return sources;
}

Outcome<std::string> BackupSources::find(const BackupFile& file) const {
  const std::string name = journal::segment_name(file.first);
  std::string wrong;
  std::string shorter;
  for (const std::string& directory : directories_) {
    const std::string path = directory + "/" + name;
    std::error_code error;
    // An earlier backup may have less of the file.
    const auto size = std::filesystem::file_size(path, error);
    if (error) continue;
    if (size < file.bytes) {
      shorter = path;
      continue;
    }
    wrong = path;
    const auto bytes = read_start(path, file.bytes);
    if (!bytes) return bytes.error();
    if (sha256_of(*bytes) == file.sha256) return path;
  }
  if (!wrong.empty()) {
    return Problem{wrong + " is not the file that " + name_ +
                   " lists: its checksum differs, so it is damaged or was changed"};
  }
  if (!shorter.empty()) {
    return Problem{shorter + " is shorter than the file that " + name_ +
                   " lists: name the backups that came between them, too"};
  }
  return Problem{name + " is missing, which " + name_ +
                 " needs: name the earlier backup that has it, too"};
}

}  // namespace millrace::tools
