#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/model/types.hpp"

/// The file `manifest` of a backup: what belongs to it, and to which times it can be restored.
///
///     manifest = "millrace-backup 2" LF [writer] point+ file+ sum
///     writer   = "writer " id LF                            ; the process that wrote the end
///     point    = "point " at " " told " " begin " " end LF  ; oldest first
///     file     = "file " name " " bytes " " hex LF          ; in the order of the log
///     sum      = "sha256 " hex LF                           ; of all bytes before
///
/// Times are RFC 3339 in UTC, positions are those of the log. Format 1, which has no writer, is
/// read too.
namespace millrace::tools {

/// What a backup has of one segment. The file may be longer.
struct BackupFile {
  Lsn first = 0;  ///< names the file
  std::uint64_t bytes = 0;
  std::string sha256;  ///< of these bytes, in hex

  [[nodiscard]] Lsn end() const { return first + bytes; }
  bool operator==(const BackupFile&) const = default;
};

/// One backup that was made. The files from `begin` to `end` are the whole log of that moment, and
/// so is what is between `begin` and any later position, as far as no file is missing.
struct BackupPoint {
  Time at{};    ///< when it was made, by the wall clock; not before what its last batch tells
  Time told{};  ///< the latest that a batch before `end` tells; `at` where none does
  Lsn begin = 0;
  Lsn end = 0;

  bool operator==(const BackupPoint&) const = default;
};

struct BackupManifest {
  /// By the journal's file `starts`, of where the last point ends. Not set: it is not known.
  std::optional<std::uint64_t> writer;
  std::vector<BackupPoint> points;
  std::vector<BackupFile> files;

  /// The file in which that segment is; null: none.
  [[nodiscard]] const BackupFile* find(Lsn first) const;

  bool operator==(const BackupManifest&) const = default;
};

/// Points between which no file is missing, by their numbers: any time from the first one on can be
/// restored, until the last one.
struct BackupRun {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// Oldest first. There is one more for each time that compaction was faster than the backups.
[[nodiscard]] std::vector<BackupRun> runs_of(const BackupManifest& manifest);

/// The last time of the run: of any of its points, since the clock may be set back.
[[nodiscard]] Time end_of(const BackupManifest& manifest, const BackupRun& run);

/// The times that can be restored, for a person: `from A to B`, and more where runs are more. Of
/// many it tells how many gaps there are between them.
[[nodiscard]] std::string times_text(const BackupManifest& manifest);

[[nodiscard]] std::string encode(const BackupManifest& manifest);

/// A problem names `path`, where the text is from.
[[nodiscard]] Outcome<BackupManifest> parse_manifest(std::string_view text,
                                                     const std::string& path);

/// The manifest in a file. A problem: it is not there, or not whole.
[[nodiscard]] Outcome<BackupManifest> read_manifest(const std::string& path);

/// SHA-256, in hex.
[[nodiscard]] std::string sha256_of(std::string_view bytes);

/// Forgets what only times before `before` need: the points before the latest one that is so old
/// and comes before all that were made from then until `now`. Nothing when the clock may be wrong.
void prune(BackupManifest& manifest, Time before, Time now);

}  // namespace millrace::tools
