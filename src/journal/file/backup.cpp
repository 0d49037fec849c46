#include "journal/file/backup.hpp"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "journal/file/log_files.hpp"
#include "journal/file/log_reader.hpp"

namespace millrace::journal {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

/// How often it is begun at most, when the server removes segments meanwhile.
constexpr int kTriesMax = 10;

/// The first `size` bytes of one file as another, on stable storage.
Outcome<Done> copy(FileSystem& files, const std::string& from, const std::string& to,
                   std::uint64_t size) {
  const Outcome<std::unique_ptr<File>> source = files.open(from, FileSystem::Access::kRead);
  if (!source) return source.error();
  const Outcome<std::unique_ptr<File>> target = files.create(to);
  if (!target) return target.error();
  std::string piece(std::min<std::uint64_t>(size, kPieceBytes), '\0');
  for (std::uint64_t offset = 0; offset < size; offset += piece.size()) {
    piece.resize(std::min<std::uint64_t>(size - offset, kPieceBytes));
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

Outcome<Done> clear(FileSystem& files, const std::string& directory) {
  const Outcome<std::vector<std::string>> names = files.list(directory);
  if (!names) return names.error();
  for (const std::string& name : *names) {
    const Outcome<Done> removed = files.remove(directory + "/" + name);
    if (!removed) return removed;
  }
  return Done{};
}

/// Whether the server will never write to the segment again. That is sure when the next segment has
/// a frame, since a segment is synced before. So the last two are not believed: after a crash, the
/// server continues with the one before a segment that was only begun.
bool is_done(const std::vector<Segment>& segments, std::size_t at) {
  return at + 2 < segments.size();
}

/// One try. Oldest first: a segment that the server removes meanwhile was rewritten to later ones,
/// which are put after it.
Outcome<std::vector<BackupPart>> put_segments(FileSystem& files, const std::string& directory,
                                              BackupTarget& target) {
  const Outcome<LogReader> log = LogReader::open(files, directory);
  if (!log) return log.error();
  const std::vector<Segment>& segments = log->segments();
  if (segments.empty()) return Problem{directory + " holds no journal"};
  if (auto begun = target.begin(); !begun) return begun.error();
  std::vector<BackupPart> parts;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const SegmentHeader& header = segments[i].header;
    BackupPart part{.path = directory + "/" + segment_name(header.first), .header = header};
    if (segments[i].sealed_at) {
      part.bytes = *segments[i].sealed_at - header.first;
      part.is_done = is_done(segments, i);
    } else {
      const auto size = whole_bytes(files, part.path, header);
      if (!size) return size.error();
      part.bytes = *size;
      const Lsn end = header.first + part.bytes;
      if (end < log->noted_end()) {
        return damage(part.path, part.bytes, lacks_its_end(log->noted_end() - end));
      }
    }
    if (auto put = target.put(part); !put) return put.error();
    parts.push_back(std::move(part));
  }
  return parts;
}

/// Whether the server has removed or begun a segment since `before` was listed: then a try may fail
/// where the next one does not.
bool has_moved_on(FileSystem& files, const std::string& directory, const std::vector<Lsn>& before) {
  const Outcome<std::vector<Lsn>> now = segments_in(files, directory);
  return now && *now != before;
}

/// A directory that has nothing else in it.
class EmptyDirectory final : public BackupTarget {
 public:
  EmptyDirectory(FileSystem& files, const std::string& path) : files_(files), path_(path) {}

  Outcome<Done> begin() override { return clear(files_, path_); }
  Outcome<Done> put(const BackupPart& part) override {
    return place(files_, part, path_ + "/" + segment_name(part.header.first));
  }

 private:
  FileSystem& files_;
  const std::string& path_;
};

}  // namespace

Outcome<std::vector<BackupPart>> back_up(FileSystem& files, const std::string& directory,
                                         BackupTarget& target) {
  for (int tries = 1;; ++tries) {
    const Outcome<std::vector<Lsn>> segments = segments_in(files, directory);
    if (!segments) return segments.error();
    Outcome<std::vector<BackupPart>> parts = put_segments(files, directory, target);
    // A log that did not change while it was read is really damaged.
    if (parts || tries == kTriesMax || !has_moved_on(files, directory, *segments)) return parts;
  }
}

Outcome<std::vector<BackupPart>> back_up(FileSystem& files, const std::string& directory,
                                         const std::string& destination) {
  Outcome<Done> done = files.ensure_directory(destination);
  if (!done) return done.error();
  const Outcome<std::vector<std::string>> names = files.list(destination);
  if (!names) return names.error();
  // A failed try clears the destination: nothing of the user's may be in it.
  if (!names->empty()) return Problem{destination + " is not empty"};
  EmptyDirectory target(files, destination);
  Outcome<std::vector<BackupPart>> parts = back_up(files, directory, target);
  if (parts) {
    done =
        write_extent(files, destination,
                     {.oldest = parts->front().header.first, .newest = parts->back().header.first});
    if (done) done = files.sync_directory(destination);
    if (done) return parts;
  }
  const Outcome<Done> cleared = clear(files, destination);
  if (!cleared) return cleared.error();
  return parts ? done.error() : parts.error();
}

Outcome<Done> place(FileSystem& files, const BackupPart& part, const std::string& to) {
  // A link takes no time and no room. It fails across file systems, and where links are not known.
  if (part.is_done && files.link(part.path, to)) return Done{};
  return copy(files, part.path, to, part.bytes);
}

Outcome<Done> write_extent(FileSystem& files, const std::string& directory,
                           const LogExtent& extent) {
  const std::string path = directory + "/" + kExtentName;
  const auto names = names_in(files, directory);
  if (!names) return names.error();
  const Outcome<std::unique_ptr<File>> file =
      names->has_extent ? files.open(path, FileSystem::Access::kReadWrite) : files.create(path);
  if (!file) return file.error();
  const auto encoded = encode_extent(extent);
  const std::string_view part(encoded.data(), encoded.size());
  const Outcome<Done> written = (*file)->write(0, {&part, 1});
  return written ? (*file)->sync() : written;
}

}  // namespace millrace::journal
