#include "journal/salvage.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "journal/log_files.hpp"
#include "journal/log_format.hpp"

namespace millrace::journal {
namespace {

/// Where the next whole frame begins; the end when there is none.
std::size_t next_frame(std::string_view bytes, std::size_t offset, const SegmentHeader& header) {
  for (; offset < bytes.size(); offset += kFrameAlignment) {
    const FramePlace place{.lsn = header.first + offset, .salt = header.salt};
    if (decode_frame(bytes.substr(offset), place)) return offset;
  }
  return bytes.size();
}

/// One pass over the segments of a directory.
class Salvage {
 public:
  Salvage(FileSystem& files, const std::string& directory, const Journal::Visitor& visitor)
      : files_(files), directory_(directory), visitor_(visitor) {}

  Outcome<Salvaged> run();

 private:
  Outcome<Done> read_salts(const std::vector<Lsn>& segments);
  Outcome<Done> take_segment(Lsn first, std::string_view bytes);
  Outcome<Done> take_frames(const SegmentHeader& header, std::string_view bytes);
  [[nodiscard]] std::optional<SegmentHeader> guess_header(Lsn first, std::string_view bytes) const;
  void lose(Lsn first, std::string_view bytes, std::pair<std::size_t, std::size_t> range);

  FileSystem& files_;
  const std::string& directory_;
  const Journal::Visitor& visitor_;
  std::vector<std::uint64_t> salts_;  ///< of the headers that are whole
  Salvaged salvaged_;
};

/// A log of another version has no header that this program finds whole.
Outcome<Done> Salvage::read_salts(const std::vector<Lsn>& segments) {
  std::optional<Problem> other_version;
  for (const Lsn first : segments) {
    const std::string path = directory_ + "/" + segment_name(first);
    const auto file = files_.open(path, FileSystem::Access::kRead);
    if (!file) continue;
    std::string bytes(kSegmentHeaderBytes, '\0');
    const Outcome<std::size_t> got = (*file)->read(0, bytes);
    if (!got) continue;
    bytes.resize(*got);
    const std::optional<SegmentHeader> header = decode_segment_header(bytes);
    if (header) salts_.push_back(header->salt);
    const auto version = foreign_version(bytes);
    if (version && !other_version) other_version = wrong_version(path, *version);
  }
  if (other_version && salts_.empty()) return *other_version;
  std::sort(salts_.begin(), salts_.end());
  salts_.erase(std::unique(salts_.begin(), salts_.end()), salts_.end());
  return Done{};
}

/// A process gives all its segments the same salt, so another header may have the one that is
/// missing; and what is damaged may be another part of this header.
std::optional<SegmentHeader> Salvage::guess_header(Lsn first, std::string_view bytes) const {
  std::vector<std::uint64_t> salts = salts_;
  if (const auto salt = claimed_salt(bytes)) salts.insert(salts.begin(), *salt);
  for (const std::uint64_t salt : salts) {
    const SegmentHeader header{.first = first, .salt = salt};
    if (next_frame(bytes, kSegmentHeaderBytes, header) < bytes.size()) return header;
  }
  return std::nullopt;
}

void Salvage::lose(Lsn first, std::string_view bytes, std::pair<std::size_t, std::size_t> range) {
  const std::size_t end = std::min(range.second, bytes_in_use(bytes));
  if (end <= range.first) return;  // room that was never written to
  salvaged_.losses.push_back(segment_name(first) + ": bytes " + std::to_string(range.first) +
                             " to " + std::to_string(end) + " are damaged or torn");
}

Outcome<Done> Salvage::take_frames(const SegmentHeader& header, std::string_view bytes) {
  std::size_t offset = kSegmentHeaderBytes;
  while (offset < bytes.size()) {
    const FramePlace place{.lsn = header.first + offset, .salt = header.salt};
    if (const auto frame = decode_frame(bytes.substr(offset), place)) {
      const Outcome<Done> visited = visitor_(frame->payload, place.lsn + kFrameHeaderBytes);
      if (!visited) return visited;
      ++salvaged_.batches;
      offset += frame->bytes;
      continue;
    }
    const std::size_t next = next_frame(bytes, offset + kFrameAlignment, header);
    const bool is_tail = next >= bytes.size();
    lose(header.first, bytes, {offset, is_tail ? bytes.size() : next});
    offset = next;
  }
  return Done{};
}

Outcome<Done> Salvage::take_segment(Lsn first, std::string_view bytes) {
  const std::optional<SegmentHeader> header = decode_segment_header(bytes);
  if (header && header->first == first) return take_frames(*header, bytes);
  const std::optional<SegmentHeader> guessed = guess_header(first, bytes);
  if (!guessed) {
    lose(first, bytes, {0, bytes.size()});
    return Done{};
  }
  lose(first, bytes, {0, kSegmentHeaderBytes});
  return take_frames(*guessed, bytes);
}

Outcome<Salvaged> Salvage::run() {
  const Outcome<std::vector<Lsn>> segments = segments_in(files_, directory_);
  if (!segments) return segments.error();
  if (segments->empty()) return Problem{directory_ + " holds no journal"};
  if (const auto read = read_salts(*segments); !read) return read.error();
  const auto extent = extent_in(files_, directory_);
  const bool has_extent = extent && *extent;
  Lsn expected = has_extent ? std::min((*extent)->oldest, segments->front()) : segments->front();
  for (std::size_t i = 0; i < segments->size(); ++i) {
    const Lsn first = (*segments)[i];
    Outcome<std::string> bytes = contents_of(files_, directory_ + "/" + segment_name(first));
    if (!bytes) {
      salvaged_.losses.push_back(bytes.error().text);
      expected = first;
      continue;
    }
    if (first > expected) {
      salvaged_.losses.push_back("positions " + std::to_string(expected) + " to " +
                                 std::to_string(first) + " are in no file");
    }
    // A segment ends where the next one begins, though its file may be longer.
    const bool is_last = i + 1 == segments->size();
    if (!is_last) bytes->resize(std::min<std::size_t>(bytes->size(), (*segments)[i + 1] - first));
    expected = first + bytes->size();
    const Outcome<Done> taken = take_segment(first, *bytes);
    if (!taken) return taken.error();
  }
  if (has_extent && (*extent)->newest > segments->back()) {
    salvaged_.losses.push_back(segment_name((*extent)->newest) + " and what follows is in no file");
  }
  return std::move(salvaged_);
}

}  // namespace

Outcome<Salvaged> salvage(FileSystem& files, const std::string& directory,
                          const Journal::Visitor& visitor) {
  return Salvage(files, directory, visitor).run();
}

}  // namespace millrace::journal
