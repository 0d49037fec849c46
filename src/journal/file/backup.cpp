#include "journal/file/backup.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "journal/file/log_files.hpp"
#include "journal/file/log_format.hpp"
#include "journal/file/log_reader.hpp"

namespace millrace::journal {
namespace {

constexpr std::size_t kCopyBytes = std::size_t{1} << 20;

/// How often it is begun at most, when the server removes segments meanwhile.
constexpr int kTriesMax = 10;

/// The first `size` bytes of one file as another, on stable storage.
Outcome<Done> copy(FileSystem& files, const std::string& from, const std::string& to,
                   std::uint64_t size) {
  const Outcome<std::unique_ptr<File>> source = files.open(from, FileSystem::Access::kRead);
  if (!source) return source.error();
  const Outcome<std::unique_ptr<File>> target = files.create(to);
  if (!target) return target.error();
  std::string piece(std::min<std::uint64_t>(size, kCopyBytes), '\0');
  for (std::uint64_t offset = 0; offset < size; offset += piece.size()) {
    piece.resize(std::min<std::uint64_t>(size - offset, kCopyBytes));
    const Outcome<std::size_t> got = (*source)->read(offset, piece);
    if (!got) return got.error();
    if (*got < piece.size()) return Problem{from + " became shorter"};
    const std::string_view part = piece;
    const Outcome<Done> written = (*target)->write(offset, {&part, 1});
    if (!written) return written;
  }
  const Outcome<Done> named = check_named(files, from);
  return named ? (*target)->sync() : named;
}

/// Where the whole frames that follow each other from `offset` on end.
std::size_t end_of_frames(std::string_view bytes, std::size_t offset, const SegmentHeader& header) {
  while (offset < bytes.size()) {
    const FramePlace place{.lsn = header.first + offset, .salt = header.salt};
    const auto frame = decode_frame(bytes.substr(offset), place);
    if (!frame) break;
    offset += frame->bytes;
  }
  return offset;
}

/// How much of the segment being written is whole frames. A frame that is being written may show in
/// parts. So a frame is called damaged only when it is still not whole after a later frame was read
/// which proves that it was durable.
Outcome<std::uint64_t> whole_bytes(FileSystem& files, const std::string& path,
                                   const SegmentHeader& header) {
  std::size_t offset = kSegmentHeaderBytes;
  for (bool is_suspected = false;; is_suspected = true) {
    const Outcome<std::string> bytes = contents_of(files, path);
    if (!bytes) return bytes.error();
    const std::size_t end = end_of_frames(*bytes, offset, header);
    if (is_suspected && end == offset) return damage(path, end, kNotWhole);
    offset = end;
    if (offset >= bytes->size()) return std::uint64_t{offset};
    const FramePlace place{.lsn = header.first + offset, .salt = header.salt};
    if (!is_proven_durable(std::string_view(*bytes).substr(offset), place)) {
      return std::uint64_t{offset};
    }
  }
}

Outcome<Done> share(FileSystem& files, const std::string& from, const std::string& to,
                    std::uint64_t size) {
  // A link takes no time and no room. It fails across file systems, and where links are not known.
  if (files.link(from, to)) return Done{};
  return copy(files, from, to, size);
}

Outcome<Done> clear(FileSystem& files, const std::string& directory) {
  const Outcome<std::vector<std::string>> names = files.list(directory);
  if (!names) return names.error();
  for (const std::string& name : *names) {
    const Outcome<Done> removed = files.remove(directory + "/" + name);
    if (!removed) return removed;
  }
  return Done{};
}

/// So that a start notices when a segment of the copy is missing.
Outcome<Done> write_extent(FileSystem& files, const std::string& directory,
                           const std::vector<Segment>& segments) {
  const Outcome<std::unique_ptr<File>> file = files.create(directory + "/" + kExtentName);
  if (!file) return file.error();
  const auto extent = encode_extent(
      {.oldest = segments.front().header.first, .newest = segments.back().header.first});
  const std::string_view part(extent.data(), extent.size());
  const Outcome<Done> written = (*file)->write(0, {&part, 1});
  return written ? (*file)->sync() : written;
}

/// Whether the server will never write to the segment again. That is sure when the next segment has
/// a frame, since a segment is synced before. So the last two are not believed: after a crash, the
/// server continues with the one before a segment that was only begun.
bool is_done(const std::vector<Segment>& segments, std::size_t at) {
  return at + 2 < segments.size();
}

/// One try. Oldest first: a segment that the server removes meanwhile was rewritten to later ones,
/// which are copied after it.
Outcome<Done> copy_segments(FileSystem& files, const std::string& directory,
                            const std::string& destination) {
  const Outcome<LogReader> log = LogReader::open(files, directory);
  if (!log) return log.error();
  const std::vector<Segment>& segments = log->segments();
  if (segments.empty()) return Problem{directory + " holds no journal"};
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const SegmentHeader& header = segments[i].header;
    const std::string from = directory + "/" + segment_name(header.first);
    const std::string to = destination + "/" + segment_name(header.first);
    Outcome<Done> copied = Done{};
    if (i + 1 < segments.size()) {
      const std::uint64_t size = *segments[i].sealed_at - header.first;
      copied = is_done(segments, i) ? share(files, from, to, size) : copy(files, from, to, size);
    } else {
      const auto size = whole_bytes(files, from, header);
      if (!size) return size.error();
      const Lsn end = header.first + *size;
      if (end < log->noted_end()) return damage(from, *size, lacks_its_end(log->noted_end() - end));
      copied = copy(files, from, to, *size);
    }
    if (!copied) return copied;
  }
  return write_extent(files, destination, segments);
}

/// Whether the server has removed or begun a segment since `before` was listed: then a try may fail
/// where the next one does not.
bool has_moved_on(FileSystem& files, const std::string& directory, const std::vector<Lsn>& before) {
  const Outcome<std::vector<Lsn>> now = segments_in(files, directory);
  return now && *now != before;
}

}  // namespace

Outcome<Done> back_up(FileSystem& files, const std::string& directory,
                      const std::string& destination) {
  Outcome<Done> done = files.ensure_directory(destination);
  if (!done) return done;
  const Outcome<std::vector<std::string>> names = files.list(destination);
  if (!names) return names.error();
  // A failed try clears the destination: nothing of the user's may be in it.
  if (!names->empty()) return Problem{destination + " is not empty"};
  for (int tries = 1;; ++tries) {
    const Outcome<std::vector<Lsn>> segments = segments_in(files, directory);
    if (!segments) return segments.error();
    done = copy_segments(files, directory, destination);
    if (done) done = files.sync_directory(destination);
    if (done) return done;
    const Outcome<Done> cleared = clear(files, destination);
    if (!cleared) return cleared;
    // A log that did not change while it was copied is really damaged.
    if (tries == kTriesMax || !has_moved_on(files, directory, *segments)) return done;
  }
}

}  // namespace millrace::journal
