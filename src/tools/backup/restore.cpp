#include "tools/backup/restore.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "faktory/json/timestamp.hpp"
#include "journal/file/backup.hpp"
#include "journal/file/file_system.hpp"
#include "journal/file/log_files.hpp"
#include "journal/file/log_format.hpp"
#include "journal/file/log_starts.hpp"
#include "journal/posix/descriptor.hpp"
#include "server/process/process.hpp"
#include "tools/backup/backup.hpp"
#include "tools/backup/backup_directory.hpp"
#include "tools/backup/manifest.hpp"
#include "tools/backup/new_segments.hpp"
#include "tools/backup/segment_batches.hpp"
#include "tools/backup/tar.hpp"
#include "tools/directory/marks.hpp"
#include "tools/directory/places.hpp"
#include "tools/directory/progress_line.hpp"

namespace millrace::tools {
namespace {

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

constexpr const char* kUnpackedPrefix = "from-";

Outcome<Done> unpack_from(TarReader& reader, const std::string& stream,
                          const std::string& directory) {
  journal::PosixFileSystem files;
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
    const auto written = journal::write_new(files, directory + "/" + file.name, *bytes);
    if (!written) return written;
  }
  if (has_manifest) return Done{};
  return Problem{stream + " has no " + kManifestName + ": it is not a backup, or not a whole one"};
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

/// Writes the files of a backup's stream, `-` being stdin, into a new directory.
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

constexpr const char* kRestoreLockName = "lock";
constexpr std::string_view kRestoreText =
    "A restore into this directory has not ended. Run it again.\n";

/// What of a backup is restored.
struct Cut {
  Lsn begin = 0;
  Lsn end = 0;
};

/// What is there before anything is restored.
bool is_of_begin(const std::string& name) {
  return name == kRestoreLockName || name == journal::draft_of(kRestoreName);
}

bool is_of_restore(const std::string& name) {
  return name == kRestoreName || is_of_begin(name) || name == journal::kExtentName ||
         name == journal::kStartsName || name.starts_with(kUnpackedPrefix) ||
         journal::parse_segment_name(name);
}

/// The directory that a restore makes. It is locked while this lives. Unless it is kept, the
/// destructor leaves it as it was.
class RestoreTarget {
 public:
  static Outcome<RestoreTarget> open(const RestoreChoice& choice);

  RestoreTarget(RestoreTarget&& other) noexcept
      : path_(std::exchange(other.path_, {})),
        was_there_(other.was_there_),
        files_(std::move(other.files_)),
        lock_(std::move(other.lock_)) {}
  RestoreTarget& operator=(RestoreTarget&&) = delete;
  ~RestoreTarget() {
    if (path_.empty()) return;
    clear(true);
    std::error_code ignored;
    if (!was_there_) std::filesystem::remove(path_, ignored);
  }

  /// The restore has ended.
  Outcome<Done> keep();

 private:
  RestoreTarget(std::string path, bool was_there) : path_(std::move(path)), was_there_(was_there) {}

  Outcome<Done> begin();
  void clear(bool also_mark) const;

  std::string path_;  ///< empty: the directory is kept
  bool was_there_;
  std::unique_ptr<journal::PosixFileSystem> files_ = std::make_unique<journal::PosixFileSystem>();
  std::unique_ptr<journal::Lock> lock_;
};

Outcome<RestoreTarget> RestoreTarget::open(const RestoreChoice& choice) {
  for (const std::string& source : choice.from) {
    if (auto apart = refuse_inside(choice.to, source); !apart) return apart.error();
  }
  std::error_code error;
  const bool was_there = std::filesystem::exists(choice.to, error);
  journal::PosixFileSystem files;
  if (auto made = files.ensure_directory(choice.to); !made) return made.error();
  const auto names = files.list(choice.to);
  if (!names) return names.error();
  const bool is_begun = std::ranges::find(*names, kRestoreName) != names->end() &&
                        std::ranges::all_of(*names, is_of_restore);
  if (!is_begun && !std::ranges::all_of(*names, is_of_begin)) {
    return Problem{choice.to + " is not empty; restore to a new directory"};
  }
  RestoreTarget target(choice.to, was_there);
  if (auto begun = target.begin(); !begun) return begun.error();
  return target;
}

/// The mark comes first and is removed last.
Outcome<Done> RestoreTarget::begin() {
  auto lock = files_->lock(path_);
  if (!lock) return lock.error();
  lock_ = std::move(*lock);
  clear(false);
  return journal::replace_file(*files_, path_ + "/" + kRestoreName, kRestoreText);
}

void RestoreTarget::clear(bool also_mark) const {
  std::error_code ignored;
  std::vector<std::filesystem::path> removed;
  for (const auto& entry : std::filesystem::directory_iterator(path_, ignored)) {
    const std::string name = entry.path().filename();
    const bool is_mark = name == kRestoreName || name == kRestoreLockName;
    if (is_of_restore(name) && (also_mark || !is_mark)) removed.push_back(entry.path());
  }
  for (const auto& path : removed) std::filesystem::remove_all(path, ignored);
}

Outcome<Done> RestoreTarget::keep() {
  std::error_code ignored;
  std::vector<std::filesystem::path> unpacked;
  for (const auto& entry : std::filesystem::directory_iterator(path_, ignored)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(kUnpackedPrefix)) unpacked.push_back(entry.path());
  }
  for (const auto& path : unpacked) std::filesystem::remove_all(path, ignored);
  if (auto removed = files_->remove(path_ + "/" + kRestoreName); !removed) return removed;
  const Outcome<Done> synced = files_->sync_directory(path_);
  if (synced) path_.clear();
  return synced;
}

// ---- what is restored ---------------------------------------------------------------------------

/// Before the first batch from `begin` on that was appended later than `until`; `end` where none
/// was.
Outcome<Lsn> find_stop(const BackupSources& sources, Lsn begin, Lsn end, Time until) {
  Lsn stop = end;
  for (const BackupFile& file : sources.manifest().files) {
    if (file.end() <= begin || file.first >= stop) continue;
    const auto path = sources.find(file);
    if (!path) return path.error();
    const auto bytes = read_start(*path, file.bytes);
    if (!bytes) return bytes.error();
    const auto seen = see_batches(*bytes, file.first, *path, [&](const SeenBatch& batch) {
      if (batch.begin < begin || !batch.told || *batch.told <= until) return true;
      stop = std::min(stop, batch.begin);
      return false;
    });
    if (!seen) return seen.error();
  }
  return stop;
}

Problem refuse_time(const BackupSources& sources, Time until) {
  const BackupManifest& manifest = sources.manifest();
  const std::string refused =
      sources.name() + " cannot be restored until " + faktory::format_time(until) + ": ";
  const BackupRun* before = nullptr;
  const std::vector<BackupRun> runs = runs_of(manifest);
  for (const BackupRun& run : runs) {
    const Time begin = manifest.points[run.first].told;
    if (before != nullptr && until < begin) {
      return Problem{
          refused + "compaction was faster than the backups then; the nearest times are " +
          faktory::format_time(end_of(manifest, *before)) + " and " + faktory::format_time(begin)};
    }
    if (until < begin) break;
    before = &run;
  }
  return Problem{refused + "it has the times " + times_text(manifest)};
}

Outcome<Cut> find_cut(const BackupSources& sources, std::optional<Time> until) {
  const BackupManifest& manifest = sources.manifest();
  const auto& points = manifest.points;
  if (!until) return Cut{.begin = points.back().begin, .end = points.back().end};
  for (const BackupRun& run : runs_of(manifest)) {
    if (*until < points[run.first].told || *until > end_of(manifest, run)) continue;
    // The last backup that has nothing later.
    std::size_t base = run.first;
    while (base < run.last && points[base + 1].told <= *until) ++base;
    const Lsn end = points[std::min(base + 1, run.last)].end;
    const auto stop = find_stop(sources, points[base].end, end, *until);
    if (!stop) return stop.error();
    return Cut{.begin = points[base].begin, .end = *stop};
  }
  return refuse_time(sources, *until);
}

/// A backup that was made before `until` has more than the cut: between the two, the clock was set
/// back. Empty: none has.
std::string clock_warning(const BackupManifest& manifest, const Cut& cut,
                          std::optional<Time> until) {
  const auto is_left_out = [&](const BackupPoint& point) {
    return until && point.at <= *until && point.end > cut.end;
  };
  const auto found = std::ranges::find_if(manifest.points, is_left_out);
  if (found == manifest.points.end()) return {};
  return "warning: the clock was set back: the backup of " + faktory::format_time(found->at) +
         " has more than this, since what came first has a time after --until; without --until "
         "everything is restored\n";
}

/// The server goes on with the last segment, so that is never shared with the backup.
Outcome<Done> place_files(const BackupSources& sources, const Cut& cut, const std::string& to) {
  journal::PosixFileSystem files;
  journal::LogExtent extent{.oldest = cut.begin, .newest = cut.begin, .end = cut.end};
  ProgressLine progress("restored", cut.end - cut.begin, ProgressLine::Unit::kBytes);
  for (const BackupFile& file : sources.manifest().files) {
    if (file.first < cut.begin || file.first >= cut.end) continue;
    const auto path = sources.find(file);
    if (!path) return path.error();
    const bool is_last = file.end() >= cut.end;
    const journal::BackupPart part{.path = *path,
                                   .header = {.first = file.first},
                                   .bytes = std::min(file.end(), cut.end) - file.first,
                                   .is_done = !is_last};
    const auto placed = journal::place(files, part, to + "/" + journal::segment_name(file.first));
    if (!placed) return placed;
    extent.newest = file.first;
    progress.show(file.end() - cut.begin);
  }
  Outcome<Done> done = journal::write_extent(files, to, extent);
  // It is another journal from now on, also for a backup that is made before a server starts.
  if (done)
    done = journal::note_start(files, to, false, {.at = cut.end, .id = server::random_number()});
  return done ? files.sync_directory(to) : done;
}

}  // namespace

Outcome<JournalReport> restore_journal(const RestoreChoice& choice) {
  auto target = RestoreTarget::open(choice);
  if (!target) return target.error();
  const auto sources = BackupSources::open(choice.from, choice.to);
  if (!sources) return sources.error();
  const auto cut = find_cut(*sources, choice.until);
  if (!cut) return cut.error();
  if (auto placed = place_files(*sources, *cut, choice.to); !placed) return placed.error();
  auto report = check_journal(choice.to);
  if (!report) return report;
  if (report->damage) return Problem{*report->damage};
  // The check has seen the mark, which goes now.
  const std::string unfinished =
      "warning: " + refuse_unfinished_restore(choice.to).error().text + "\n";
  if (auto kept = target->keep(); !kept) return kept.error();
  if (const auto at = report->text.find(unfinished); at != std::string::npos) {
    report->text.erase(at, unfinished.size());
  }
  const BackupManifest& manifest = sources->manifest();
  const Time at = choice.until.value_or(manifest.points.back().at);
  report->text += "restored: " + choice.to + ", as it was at " + faktory::format_time(at) + "\n" +
                  clock_warning(manifest, *cut, choice.until) + owner_warning(choice.to);
  return report;
}

std::optional<Time> parse_until(std::string_view text) {
  // `2026-11-22T10:00` and what follows: the seconds, or the zone.
  constexpr std::size_t kMinutesEnd = 16;
  if (const auto time = faktory::parse_time(text)) return time;
  if (text.size() <= kMinutesEnd || text[kMinutesEnd] == ':') return std::nullopt;
  return faktory::parse_time(std::string(text.substr(0, kMinutesEnd)) + ":00" +
                             std::string(text.substr(kMinutesEnd)));
}

}  // namespace millrace::tools
