#include "journal/file/log_reader.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/buffer.hpp"
#include "journal/file/log_files.hpp"

namespace millrace::journal {
namespace {

/// How much is in memory while a file is searched for anything but zeros.
constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

/// Whether the file holds nothing but zeros from `offset` on.
Outcome<bool> is_zero_from(File& file, std::uint64_t offset) {
  std::vector<char> chunk(kChunkBytes);
  for (;;) {
    const Outcome<std::size_t> got = file.read(offset, chunk);
    // What the disk does not give may be anything.
    if (!got && got.error().is_passing) return false;
    if (!got) return got.error();
    if (*got == 0) return true;
    const auto end = chunk.begin() + static_cast<std::ptrdiff_t>(*got);
    if (std::any_of(chunk.begin(), end, [](char byte) { return byte != 0; })) return false;
    offset += *got;
  }
}

/// Reserved files come after the first segment: without one, somebody has taken it away.
Problem lost_segments(const std::string& directory, const std::string& reserved) {
  return Problem{directory + " held a journal, of which " + reserved +
                 " is left and no segment; nothing was changed: bring the segments back, restore "
                 "a backup, or begin in an empty directory"};
}

}  // namespace

LogReader::LogReader(FileSystem& files, std::string directory)
    : files_(&files), directory_(std::move(directory)) {}

Outcome<LogReader> LogReader::open(FileSystem& files, std::string directory) {
  LogReader reader(files, std::move(directory));
  Outcome<LogNames> names = names_in(files, reader.directory_);
  if (!names) return names.error();
  std::optional<LogExtent> extent;
  if (names->has_extent) {
    const Outcome<std::optional<LogExtent>> read = read_extent(files, reader.directory_);
    // Nobody is to try again.
    if (!read) return Problem{read.error().text};
    extent = *read;
  }
  // Whoever writes to the log may have begun a segment between the two.
  if (extent && (names->segments.empty() || names->segments.back() < extent->newest)) {
    names = names_in(files, reader.directory_);
    if (!names) return names.error();
  }
  const std::vector<Lsn>& firsts = names->segments;
  if (firsts.empty() && !extent && !names->reserved.empty()) {
    return lost_segments(reader.directory_, names->reserved.front());
  }
  for (const Lsn first : firsts) {
    const Outcome<Done> added = reader.add_segment(first, first == firsts.back());
    if (!added) return added.error();
  }
  const Outcome<Done> checked = reader.check_lengths();
  if (!checked) return checked.error();
  const Outcome<Done> complete = reader.check_ends(extent);
  if (!complete) return complete.error();
  reader.has_extent_ = extent.has_value() || firsts.empty();
  reader.has_starts_ = names->has_starts;
  if (extent) reader.noted_end_ = extent->end;
  return reader;
}

Outcome<Done> LogReader::add_segment(Lsn first, bool is_last) {
  // A segment is sealed by the next one, not by a mark of its own: so sealing writes nothing.
  if (!segments_.empty()) segments_.back().sealed_at = first;
  const Outcome<std::unique_ptr<File>> file =
      files_->open(path_of(first), FileSystem::Access::kRead);
  if (!file) return file.error();
  std::string bytes(kSegmentHeaderBytes, '\0');
  const Outcome<std::size_t> got = (*file)->read(0, bytes);
  if (!got && got.error().is_passing) return damage(path_of(first), 0, cannot_be_read(0));
  if (!got) return got.error();
  bytes.resize(*got);
  // Before damage: a newer program's journal is whole, and must not be salvaged.
  if (const std::optional<std::uint32_t> version = foreign_version(bytes)) {
    return wrong_version(path_of(first), *version);
  }
  const std::optional<SegmentHeader> header = decode_segment_header(bytes);
  if (header && header->first == first) {
    segments_.push_back({.header = *header, .sealed_at = std::nullopt});
    const Outcome<std::uint64_t> size = (*file)->size();
    if (!size) return size.error();
    files_end_ = first + *size;
    return Done{};
  }
  if (header)
    return damage(path_of(first), 0, "the header belongs to " + segment_name(header->first));
  const Outcome<bool> is_only_begun = is_zero_from(**file, kSegmentHeaderBytes);
  if (!is_only_begun) return is_only_begun.error();
  // Frames are written after the header is synced. So a last segment without a header is one that a
  // crash interrupted, if nothing follows the header's place.
  if (!is_last || !*is_only_begun) return damage(path_of(first), 0, kHeaderNotWhole);
  begun_ = first;
  return Done{};
}

Outcome<Done> LogReader::check_lengths() const {
  for (const Segment& segment : segments_) {
    if (!segment.sealed_at) continue;
    const Lsn first = segment.header.first;
    const Outcome<std::unique_ptr<File>> file =
        files_->open(path_of(first), FileSystem::Access::kRead);
    if (!file) return file.error();
    const Outcome<std::uint64_t> size = (*file)->size();
    if (!size) return size.error();
    if (*size < *segment.sealed_at - first) {
      return damage(path_of(first), *size, breaks_off_before(*segment.sealed_at));
    }
  }
  return Done{};
}

/// Whoever writes to the log meanwhile removes segments after the extent has said so. So the extent
/// is read again before a segment counts as missing at the beginning.
Outcome<Done> LogReader::check_ends(const std::optional<LogExtent>& before) const {
  const auto missing = [&](Lsn first) { return journal::missing(directory_, segment_name(first)); };
  if (before && (segments_.empty() || segments_.back().header.first < before->newest)) {
    // The extent names a segment only after its header was synced.
    if (begun_ == before->newest) {
      return damage(path_of(*begun_), 0, kHeaderNotWhole);
    }
    return missing(before->newest);
  }
  if (!before || segments_.front().header.first <= before->oldest) return Done{};
  const Outcome<std::optional<LogExtent>> extent = extent_in(*files_, directory_);
  if (!extent) return extent.error();
  if (!*extent) return Done{};
  const Lsn oldest = (*extent)->oldest;
  return segments_.front().header.first > oldest ? Outcome<Done>(missing(oldest)) : Done{};
}

Outcome<LogEnd> LogReader::replay(const Journal::Visitor& visitor) const {
  LogEnd log{.end = begun_.value_or(0), .durable = begun_.value_or(0), .cut_bytes = 0};
  std::string bytes;
  for (const Segment& segment : segments_) {
    const Outcome<Gap> gap = load(segment, bytes);
    if (!gap) return gap.error();
    const Outcome<LogEnd> walked = walk(segment, bytes, *gap, visitor);
    if (!walked) return walked.error();
    log = *walked;
  }
  // A clean stop noted the end. A log that is shorter lost something since, even if its frames look
  // like a torn tail.
  if (log.end < noted_end_ && !segments_.empty()) {
    const Lsn first = segments_.back().header.first;
    return damage(path_of(first), log.end - first, lacks_its_end(noted_end_ - log.end));
  }
  return log;
}

/// Whole segments at once: one call, and frames need no copies. The file of a sealed one may be
/// longer than its part of the log.
Outcome<LogReader::Gap> LogReader::load(const Segment& segment, std::string& bytes) const {
  const Lsn first = segment.header.first;
  const Outcome<std::unique_ptr<File>> file =
      files_->open(path_of(first), FileSystem::Access::kRead);
  if (!file) return file.error();
  const Outcome<std::uint64_t> size = (*file)->size();
  if (!size) return size.error();
  const std::size_t wanted = segment.sealed_at ? *segment.sealed_at - first : *size;
  // Not beside the room of a shorter one, which would be copied too.
  if (bytes.capacity() < wanted) reset(bytes, 0);
  bytes.resize(wanted);
  const Outcome<std::size_t> got = (*file)->read(0, bytes);
  if (!got && !got.error().is_passing) return got.error();
  if (!got) {
    const auto gaps = read_in_pieces(**file, 0, bytes, 1);
    if (gaps.empty()) return Gap();
    bytes.resize(gaps.front());
    return Gap(gaps.front());
  }
  if (*got < bytes.size())
    return damage(path_of(first), *got, "the file became shorter while it was read");
  return Gap();
}

Outcome<LogEnd> LogReader::walk(const Segment& segment, std::string_view bytes, Gap gap,
                                const Journal::Visitor& visitor) const {
  const Lsn first = segment.header.first;
  const std::uint64_t salt = segment.header.salt;
  LogEnd log{.end = first, .durable = first, .cut_bytes = 0};
  std::size_t offset = kSegmentHeaderBytes;
  while (offset < bytes.size()) {
    const FramePlace place{.lsn = first + offset, .salt = salt};
    const std::optional<Frame> frame = decode_frame(bytes.substr(offset), place);
    if (!frame) break;
    const Outcome<Done> visited = visitor(frame->payload, place.lsn + kFrameHeaderBytes);
    if (!visited) return damage(path_of(first), offset, no_records(visited.error()));
    log.durable = std::max(log.durable, frame->durable);
    offset += frame->bytes;
  }
  log.end = first + offset;
  if (gap) return damage(path_of(first), offset, cannot_be_read(*gap));
  if (offset == bytes.size()) {
    // A segment is synced before the next one begins.
    if (segment.sealed_at) log.durable = log.end;
    return log;
  }
  const std::string_view rest = bytes.substr(offset);
  if (segment.sealed_at || is_proven_durable(rest, {.lsn = log.end, .salt = salt})) {
    return damage(path_of(first), offset, kNotWhole);
  }
  // Not counting preallocated room, so that the log names what was really lost.
  log.cut_bytes = bytes_in_use(rest);
  return log;
}

std::string LogReader::path_of(Lsn first) const {
  return directory_ + "/" + segment_name(first);
}

}  // namespace millrace::journal
