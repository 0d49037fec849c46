#include "journal/backup.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "journal/log_files.hpp"
#include "journal/log_format.hpp"

namespace millrace::journal {
namespace {

constexpr std::size_t kCopyBytes = std::size_t{1} << 20;

/// How often it is begun anew because the server removed a segment meanwhile.
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
  return (*target)->sync();
}

/// How much of the segment being written is whole frames. What is written meanwhile may show in
/// parts; it stands behind them.
Outcome<std::uint64_t> whole_bytes(FileSystem& files, const std::string& path) {
  const Outcome<std::string> bytes = contents_of(files, path);
  if (!bytes) return bytes.error();
  const std::optional<SegmentHeader> header = decode_segment_header(*bytes);
  if (!header) return std::uint64_t{0};
  std::size_t offset = kSegmentHeaderBytes;
  for (;;) {
    const FramePlace place{.lsn = header->first + offset, .salt = header->salt};
    const auto frame = decode_frame(std::string_view(*bytes).substr(offset), place);
    if (!frame) return std::uint64_t{offset};
    offset += frame->bytes;
  }
}

Outcome<Done> share(FileSystem& files, const std::string& from, const std::string& to,
                    std::uint64_t size) {
  if (files.link(from, to)) return Done{};
  return copy(files, from, to, size);
}

Outcome<Done> clear(FileSystem& files, const std::string& directory) {
  const Outcome<std::vector<Lsn>> segments = segments_in(files, directory);
  if (!segments) return segments.error();
  for (const Lsn first : *segments) {
    const Outcome<Done> removed = files.remove(directory + "/" + segment_name(first));
    if (!removed) return removed;
  }
  return Done{};
}

/// One try. Oldest first, and the last one last: so whatever a segment that goes meanwhile was
/// needed for stands in what is copied later.
Outcome<Done> copy_segments(FileSystem& files, const std::string& directory,
                            const std::string& destination) {
  const Outcome<std::vector<Lsn>> segments = segments_in(files, directory);
  if (!segments) return segments.error();
  if (segments->empty()) return Problem{directory + " holds no journal"};
  for (std::size_t i = 0; i + 1 < segments->size(); ++i) {
    const std::string name = "/" + segment_name((*segments)[i]);
    const Outcome<Done> shared =
        share(files, directory + name, destination + name, (*segments)[i + 1] - (*segments)[i]);
    if (!shared) return shared;
  }
  const std::string name = "/" + segment_name(segments->back());
  const Outcome<std::uint64_t> size = whole_bytes(files, directory + name);
  if (!size) return size.error();
  // Only begun: nothing stands in it yet.
  if (*size == 0 && segments->size() > 1) return Done{};
  return copy(files, directory + name, destination + name, *size);
}

}  // namespace

Outcome<Done> back_up(FileSystem& files, const std::string& directory,
                      const std::string& destination) {
  Outcome<Done> done = files.ensure_directory(destination);
  if (!done) return done;
  const Outcome<std::vector<std::string>> names = files.list(destination);
  if (!names) return names.error();
  if (!names->empty()) return Problem{destination + " is not empty"};
  for (int tries = 1;; ++tries) {
    done = copy_segments(files, directory, destination);
    if (done || tries == kTriesMax) break;
    // A segment that is not there any more is no loss. Anything else will show again.
    const Outcome<Done> cleared = clear(files, destination);
    if (!cleared) return cleared;
  }
  if (done) done = files.sync_directory(destination);
  return done;
}

}  // namespace millrace::journal
