#include "journal/file/log_files.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "journal/file/log_starts.hpp"
#include "journal/file/removal.hpp"
#include "journal/file/reserve.hpp"

namespace millrace::journal {
namespace {

std::string salvage_of(const std::string& directory) {
  return "`millrace check " + directory + " --salvage NEWDIR`";
}

}  // namespace

Outcome<LogNames> names_in(FileSystem& files, const std::string& directory) {
  const Outcome<std::vector<std::string>> listed = files.list(directory);
  if (!listed) return listed.error();
  LogNames names;
  for (const std::string& name : *listed) {
    if (const std::optional<Lsn> first = parse_segment_name(name)) names.segments.push_back(*first);
    if (is_numbered(name, kReservedPrefix)) names.reserved.push_back(name);
    if (is_numbered(name, kRemovedPrefix)) names.removed.push_back(name);
    if (name == kExtentName) names.has_extent = true;
    if (name == kStartsName) names.has_starts = true;
  }
  std::sort(names.segments.begin(), names.segments.end());
  return names;
}

Outcome<std::vector<Lsn>> segments_in(FileSystem& files, const std::string& directory) {
  const Outcome<std::vector<std::string>> names = files.list(directory);
  if (!names) return names.error();
  std::vector<Lsn> firsts;
  for (const std::string& name : *names) {
    if (const std::optional<Lsn> first = parse_segment_name(name)) firsts.push_back(*first);
  }
  // A directory lists its names in no order.
  std::sort(firsts.begin(), firsts.end());
  return firsts;
}

bool is_numbered(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

Outcome<std::optional<LogExtent>> extent_in(FileSystem& files, const std::string& directory) {
  const Outcome<std::vector<std::string>> names = files.list(directory);
  if (!names) return names.error();
  const bool exists = std::find(names->begin(), names->end(), kExtentName) != names->end();
  return exists ? read_extent(files, directory) : std::optional<LogExtent>();
}

Outcome<std::optional<LogExtent>> read_extent(FileSystem& files, const std::string& directory) {
  const Outcome<std::string> bytes = contents_of(files, directory + "/" + kExtentName);
  if (!bytes) return bytes.error();
  return decode_extent(*bytes);
}

Problem wrong_version(const std::string& path, std::uint32_t version) {
  return Problem{path + " has journal format " + std::to_string(version) + " (at offset " +
                 std::to_string(kVersionAt) + "), and this program reads format " +
                 std::to_string(kFormatVersion) +
                 "; nothing was changed: start the version of the program that wrote it, or "
                 "restore a backup"};
}

Problem missing(const std::string& directory, const std::string& name) {
  return Problem{directory + " is not complete: " + name +
                 " is missing; nothing was changed: bring the file back, restore a backup, or "
                 "copy what is left with " +
                 salvage_of(directory)};
}

std::string no_records(const Problem& problem) {
  return "a batch that is not a sequence of records: " + problem.text;
}

std::string cannot_be_read(std::uint64_t offset) {
  return "it cannot be read at offset " + std::to_string(offset) + ": Input/output error";
}

std::string lacks_its_end(std::uint64_t missing_bytes) {
  return "the last " + std::to_string(missing_bytes) +
         " bytes of the log, as it was when the server stopped, are missing or damaged";
}

std::string breaks_off_before(Lsn next) {
  return "the log breaks off before " + segment_name(next) +
         ", or files between the two are missing";
}

Problem damage(const std::string& path, std::uint64_t offset, std::string_view what) {
  return Problem{path + " is damaged at offset " + std::to_string(offset) + ": " +
                 std::string(what) +
                 "; nothing was changed: restore a backup, or copy what is whole with " +
                 salvage_of(path.substr(0, path.rfind('/')))};
}

/// Whole blocks of zeros are skipped, since there may be a segment full.
std::size_t bytes_in_use(std::string_view bytes) {
  static constexpr std::array<char, 4096> kZeros{};
  while (bytes.size() >= kZeros.size() && std::memcmp(bytes.data() + bytes.size() - kZeros.size(),
                                                      kZeros.data(), kZeros.size()) == 0) {
    bytes.remove_suffix(kZeros.size());
  }
  return bytes.find_last_not_of('\0') + 1;  // npos + 1 is 0
}

Outcome<Done> write_zeros(File& file, std::uint64_t begin, std::uint64_t bytes) {
  constexpr std::uint64_t kZeroBytes = std::uint64_t{1} << 20;
  const std::string zeros(std::min(bytes, kZeroBytes), '\0');
  for (std::uint64_t at = 0; at < bytes; at += zeros.size()) {
    const std::string_view part = std::string_view(zeros).substr(0, bytes - at);
    const Outcome<Done> written = file.write(begin + at, {&part, 1});
    if (!written) return written;
  }
  return Done{};
}

bool is_proven_durable(std::string_view bytes, FramePlace place) {
  // Most of the rest is room that was never written to, where no frame begins.
  const std::size_t end = bytes_in_use(bytes);
  for (std::size_t skip = kFrameAlignment; skip < end; skip += kFrameAlignment) {
    const FramePlace there{.lsn = place.lsn + skip, .salt = place.salt};
    const std::optional<Frame> frame = decode_frame(bytes.substr(skip), there);
    // A frame says what was durable when it was written. Damage before that position is not a torn
    // tail: clients were told that it is safe.
    if (frame && frame->durable > place.lsn) return true;
  }
  return false;
}

Outcome<Done> check_named(FileSystem& files, const std::string& path) {
  const Outcome<std::unique_ptr<File>> file = files.open(path, FileSystem::Access::kRead);
  return file ? Outcome<Done>(Done{}) : file.error();
}

Outcome<std::string> contents_of(FileSystem& files, const std::string& path) {
  Outcome<Readable> readable = readable_of(files, path);
  if (!readable) return readable.error();
  if (readable->gaps.empty()) return std::move(readable->bytes);
  const std::uint64_t gap = readable->gaps.front();
  Problem problem = damage(path, gap, cannot_be_read(gap));
  problem.is_passing = true;
  return problem;
}

Outcome<Readable> readable_of(FileSystem& files, const std::string& path) {
  const Outcome<std::unique_ptr<File>> file = files.open(path, FileSystem::Access::kRead);
  if (!file) return file.error();
  const Outcome<std::uint64_t> size = (*file)->size();
  if (!size) return size.error();
  Readable readable{.bytes = std::string(*size, '\0'), .gaps = {}};
  const Outcome<std::size_t> got = (*file)->read(0, readable.bytes);
  if (!got && !got.error().is_passing) return got.error();
  if (got) readable.bytes.resize(*got);
  if (!got) readable.gaps = read_in_pieces(**file, 0, readable.bytes);
  // A running server may have removed the segment and reused its file: then these bytes are of
  // another place in the log.
  const Outcome<Done> named = check_named(files, path);
  return named ? Outcome<Readable>(std::move(readable)) : named.error();
}

std::vector<std::uint64_t> read_in_pieces(File& file, std::uint64_t offset, std::span<char> into,
                                          std::size_t gaps_max) {
  std::vector<std::uint64_t> gaps;
  while (!into.empty() && gaps.size() < gaps_max) {
    const std::size_t to_next = kGapBytes - offset % kGapBytes;
    const std::span<char> piece = into.first(std::min(into.size(), to_next));
    if (!file.read(offset, piece)) {
      std::ranges::fill(piece, '\xff');
      gaps.push_back(offset);
    }
    offset += piece.size();
    into = into.subspan(piece.size());
  }
  return gaps;
}

}  // namespace millrace::journal
