#include "tools/backup/manifest.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/number.hpp"
#include "base/text.hpp"
#include "faktory/json/timestamp.hpp"
#include "faktory/session/sha256.hpp"
#include "journal/file/log_format.hpp"
#include "tools/directory/marks.hpp"

namespace millrace::tools {
namespace {

constexpr std::string_view kMagic = "millrace-backup ";
constexpr std::string_view kBackupFormat = "2";
/// Of earlier programs, without a writer.
constexpr std::string_view kOldBackupFormat = "1";
constexpr std::string_view kSumStart = "sha256 ";
constexpr std::size_t kSumHexBytes = 64;
/// Of a year of points, one a minute, it has 60 MiB.
constexpr std::uint64_t kManifestBytesMax = std::uint64_t{256} << 20;

std::optional<BackupPoint> parse_point(std::string_view line) {
  const auto at = faktory::parse_time(take_word(line));
  const auto told = faktory::parse_time(take_word(line));
  const auto begin = parse_number<Lsn>(take_word(line));
  const auto end = parse_number<Lsn>(line);
  if (!at || !told || !begin || !end || *begin >= *end) return std::nullopt;
  return BackupPoint{.at = *at, .told = *told, .begin = *begin, .end = *end};
}

std::optional<BackupFile> parse_file(std::string_view line) {
  const auto first = journal::parse_segment_name(take_word(line));
  const auto bytes = parse_number<std::uint64_t>(take_word(line));
  if (!first || !bytes || *bytes < journal::kSegmentHeaderBytes) return std::nullopt;
  if (*bytes > UINT64_MAX - *first || line.size() != kSumHexBytes) return std::nullopt;
  return BackupFile{.first = *first, .bytes = *bytes, .sha256 = std::string(line)};
}

/// False where the line says nothing that may follow what is there.
bool add_line(std::string_view line, BackupManifest& manifest) {
  const std::string_view kind = take_word(line);
  if (kind == "writer") {
    if (manifest.writer || !manifest.points.empty() || !manifest.files.empty()) return false;
    manifest.writer = parse_number<std::uint64_t>(line);
    return manifest.writer.has_value();
  }
  if (kind == "point") {
    const auto point = parse_point(line);
    if (!point || !manifest.files.empty()) return false;
    if (!manifest.points.empty() && manifest.points.back().end > point->end) return false;
    manifest.points.push_back(*point);
    return true;
  }
  const auto file = kind == "file" ? parse_file(line) : std::nullopt;
  if (!file || (!manifest.files.empty() && manifest.files.back().end() > file->first)) return false;
  manifest.files.push_back(*file);
  return true;
}

/// The files of each point are there, without a gap.
bool is_complete(const BackupManifest& manifest) {
  if (manifest.points.empty() || manifest.files.empty()) return false;
  if (manifest.files.back().end() != manifest.points.back().end) return false;
  return std::ranges::all_of(manifest.points, [&](const BackupPoint& point) {
    Lsn reached = point.begin;
    for (const BackupFile& file : manifest.files) {
      if (file.first == reached) reached = file.end();
    }
    return reached >= point.end;
  });
}

}  // namespace

const BackupFile* BackupManifest::find(Lsn first) const {
  const auto found = std::ranges::find(files, first, &BackupFile::first);
  return found == files.end() ? nullptr : &*found;
}

std::string sha256_of(std::string_view bytes) {
  faktory::Sha256Digest digest{};
  faktory::Sha256().hash(bytes.data(), bytes.size(), digest);
  return hex_of({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::vector<BackupRun> runs_of(const BackupManifest& manifest) {
  std::vector<BackupRun> runs;
  for (std::size_t i = 0; i < manifest.points.size(); ++i) {
    const bool is_continuous =
        !runs.empty() && manifest.points[i].begin <= manifest.points[i - 1].end;
    if (!is_continuous) runs.push_back({.first = i});
    runs.back().last = i;
  }
  return runs;
}

Time end_of(const BackupManifest& manifest, const BackupRun& run) {
  Time end{};
  for (std::size_t i = run.first; i <= run.last; ++i) {
    end = std::max({end, manifest.points[i].at, manifest.points[i].told});
  }
  return end;
}

std::string times_text(const BackupManifest& manifest) {
  constexpr std::size_t kRunsTold = 3;
  const auto tell = [&](const BackupRun& first, const BackupRun& last) {
    return "from " + faktory::format_time(manifest.points[first.first].told) + " to " +
           faktory::format_time(end_of(manifest, last));
  };
  const std::vector<BackupRun> runs = runs_of(manifest);
  if (runs.size() > kRunsTold) {
    return tell(runs.front(), runs.back()) + ", with " + std::to_string(runs.size() - 1) +
           " gaps; the last gap ends at " +
           faktory::format_time(manifest.points[runs.back().first].told);
  }
  std::string text;
  for (const BackupRun& run : runs) text += (text.empty() ? "" : ", and ") + tell(run, run);
  return text;
}

std::string encode(const BackupManifest& manifest) {
  std::string text = std::string(kMagic) + std::string(kBackupFormat) + "\n";
  if (manifest.writer) text += "writer " + std::to_string(*manifest.writer) + "\n";
  for (const BackupPoint& point : manifest.points) {
    text += "point " + faktory::format_time(point.at) + " " + faktory::format_time(point.told) +
            " " + std::to_string(point.begin) + " " + std::to_string(point.end) + "\n";
  }
  for (const BackupFile& file : manifest.files) {
    text += "file " + journal::segment_name(file.first) + " " + std::to_string(file.bytes) + " " +
            file.sha256 + "\n";
  }
  return text + std::string(kSumStart) + sha256_of(text) + "\n";
}

Outcome<BackupManifest> parse_manifest(std::string_view text, const std::string& path) {
  std::string_view rest = text;
  std::string_view first = take_line(rest);
  if (!first.starts_with(kMagic)) return Problem{path + " is not the manifest of a backup"};
  first.remove_prefix(kMagic.size());
  const bool is_known = first == kBackupFormat || first == kOldBackupFormat;
  if (!is_known && !parse_number<std::uint32_t>(first)) {
    return Problem{path + " is not the manifest of a backup"};
  }
  if (!is_known) {
    return Problem{path + " has backup format " + std::string(first) +
                   ", and this program reads formats " + std::string(kOldBackupFormat) + " to " +
                   std::string(kBackupFormat)};
  }
  const Problem not_whole{path +
                          " does not match its own checksum: it is not whole, or was changed"};
  const std::size_t sum_bytes = kSumStart.size() + kSumHexBytes + 1;
  if (text.size() < sum_bytes) return not_whole;
  const std::string_view summed = text.substr(0, text.size() - sum_bytes);
  if (text.substr(summed.size()) != std::string(kSumStart) + sha256_of(summed) + "\n") {
    return not_whole;
  }
  // The first line may have no end but that of the last one.
  if (rest.size() < sum_bytes) return not_whole;
  rest.remove_suffix(sum_bytes);
  BackupManifest manifest;
  for (std::size_t number = 2; !rest.empty(); ++number) {
    if (add_line(take_line(rest), manifest)) continue;
    return Problem{path + " cannot be read: line " + std::to_string(number) +
                   " is of no backup that this program makes"};
  }
  if (!is_complete(manifest)) return Problem{path + " does not list all files that it needs"};
  return manifest;
}

Outcome<BackupManifest> read_manifest(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const int cause = errno;
  const auto size = file ? static_cast<std::int64_t>(file.tellg()) : -1;
  if (size < 0) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) {
      return Problem{path + " is not there: this is not a backup, or one that was cut off"};
    }
    const std::string why = file ? "it is not a file" : std::strerror(cause);
    return Problem{path + " cannot be read, the manifest of a backup: " + why};
  }
  if (static_cast<std::uint64_t>(size) > kManifestBytesMax) {
    return Problem{path + " is not the manifest of a backup"};
  }
  std::string text(static_cast<std::size_t>(size), '\0');
  file.seekg(0);
  if (!file.read(text.data(), size)) return Problem{path + " cannot be read"};
  return parse_manifest(text, path);
}

void prune(BackupManifest& manifest, Time before, Time now) {
  auto& points = manifest.points;
  // The clock was ahead when the one before was made, or is behind now: nobody knows.
  if (points.size() > 1 && points[points.size() - 2].at > now) return;
  const auto kept = std::ranges::find_if(
      points, [&](const BackupPoint& point) { return point.at > before && point.at <= now; });
  // Where the clock was wrong for a while, a point tells nothing of those around it. So of those
  // that are old the latest one stays, which need not be the last one.
  auto base = kept;
  for (auto point = points.begin(); point != kept; ++point) {
    if (point->at > before) continue;
    if (base == kept || point->at >= base->at) base = point;
  }
  if (base == kept) return;
  points.erase(points.begin(), base);
  std::erase_if(manifest.files,
                [&](const BackupFile& file) { return file.end() <= points.front().begin; });
}

}  // namespace millrace::tools
