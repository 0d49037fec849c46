#include "journal/file/log_window.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/check.hpp"
#include "journal/file/log_files.hpp"

namespace millrace::journal {
namespace {

/// How many segments are kept open for reading.
/// Descriptors are few. Jobs of a queue are near each other, so a few segments serve most reads.
constexpr std::size_t kOpenSegmentsMax = 8;

/// A longer stretch is not read in pieces.
constexpr std::size_t kReadInPiecesMax = std::size_t{1} << 20;

/// The system failed to read, and may not fail the next time.
Problem failed(std::uint64_t offset, const Problem& problem) {
  return {.text = problem.text + ", at offset " + std::to_string(offset), .is_passing = true};
}

Problem decayed(const std::string& path, std::uint64_t offset, std::string_view what) {
  return Problem{path + " is damaged at offset " + std::to_string(offset) + ": " +
                 std::string(what)};
}

}  // namespace

void LogWindow::note_frame(Lsn segment, Lsn begin, Lsn end) {
  CHECK(segment < begin && end_ <= begin && begin < end);
  const bool is_near = !marks_.empty() && marks_.back().segment == segment &&
                       begin - marks_.back().begin < kMarkBytes;
  // One mark for many small frames: marks stay in memory for the whole log, and a read decodes from
  // the mark on anyway.
  if (!is_near) marks_.push_back({.begin = begin, .segment = segment});
  end_ = end;
}

void LogWindow::forget_before(Lsn segment) {
  while (!marks_.empty() && marks_.front().segment < segment) marks_.pop_front();
  // An open descriptor would keep the space of a removed file.
  segments_.erase(segments_.begin(), segments_.lower_bound(segment));
}

Outcome<LogWindow::Stretch> LogWindow::stretch_with(Lsn begin, std::size_t size) const {
  const auto next = std::upper_bound(marks_.begin(), marks_.end(), begin,
                                     [](Lsn lsn, const Mark& mark) { return lsn < mark.begin; });
  if (next == marks_.begin() || begin + size > end_) {
    return Problem{directory_ + " holds no " + std::to_string(size) + " bytes at position " +
                   std::to_string(begin)};
  }
  const Mark mark = *std::prev(next);
  Lsn end = end_;
  // A stretch ends with its segment: the next one begins with a header, not with a frame.
  if (next != marks_.end()) end = next->segment == mark.segment ? next->begin : next->segment;
  return Stretch{.segment = mark.segment, .begin = mark.begin, .end = end};
}

Outcome<LogWindow::OpenSegment*> LogWindow::open_segment(Lsn segment) {
  const auto found = segments_.find(segment);
  if (found != segments_.end()) return &found->second;
  auto file = files_.open(path_of(segment), FileSystem::Access::kRead);
  // Of those that the process has, one is used again.
  if (!file && file.error().is_out_of_space && !segments_.empty()) {
    segments_.erase(segments_.begin());
    file = files_.open(path_of(segment), FileSystem::Access::kRead);
  }
  if (!file) return file.error();
  std::string bytes(kSegmentHeaderBytes, '\0');
  const Outcome<std::size_t> got = (*file)->read(0, bytes);
  if (!got) return got.error();
  bytes.resize(*got);
  const std::optional<SegmentHeader> header = decode_segment_header(bytes);
  if (!header || header->first != segment) {
    return decayed(path_of(segment), 0, "the segment header is not whole");
  }
  // The oldest one is closed: compaction will remove that segment first.
  if (segments_.size() == kOpenSegmentsMax) segments_.erase(segments_.begin());
  OpenSegment opened{.file = std::move(*file), .header = *header};
  return &segments_.emplace(segment, std::move(opened)).first->second;
}

Outcome<std::string> LogWindow::load(const Stretch& stretch) {
  const Outcome<OpenSegment*> segment = open_segment(stretch.segment);
  const Lsn offset_of_stretch = stretch.begin - stretch.segment;
  if (!segment) return failed(offset_of_stretch, segment.error());
  std::string bytes(stretch.end - stretch.begin, '\0');
  const auto got = (*segment)->file->read(offset_of_stretch, bytes);
  if (!got) return failed(offset_of_stretch, got.error());
  bytes.resize(*got);
  std::size_t offset = 0;
  while (offset < bytes.size()) {
    const FramePlace place{.lsn = stretch.begin + offset, .salt = (*segment)->header.salt};
    const auto frame = decode_frame(std::string_view(bytes).substr(offset), place);
    // The newest frames may not be written yet. `read` decides whether what it needs is whole.
    if (!frame) break;
    offset += frame->bytes;
  }
  bytes.resize(offset);
  return bytes;
}

/// Another frame of the stretch may be damaged than the one that is asked for.
std::optional<std::string> LogWindow::find_beyond_damage(const Stretch& stretch, Lsn begin,
                                                         std::size_t size) {
  const Outcome<OpenSegment*> segment = open_segment(stretch.segment);
  if (!segment) return std::nullopt;
  const Lsn offset = stretch.begin - stretch.segment;
  std::string bytes(stretch.end - stretch.begin, '\0');
  if (!(*segment)->file->read(offset, bytes) && bytes.size() <= kReadInPiecesMax) {
    read_in_pieces(*(*segment)->file, offset, bytes);
  }
  const std::size_t wanted = begin - stretch.begin;
  for (std::size_t at = 0; at < wanted; at += kFrameAlignment) {
    const FramePlace place{.lsn = stretch.begin + at, .salt = (*segment)->header.salt};
    const auto frame = decode_frame(std::string_view(bytes).substr(at), place);
    if (!frame) continue;
    const bool has_all = wanted + size <= at + kFrameHeaderBytes + frame->payload.size();
    if (has_all && wanted >= at + kFrameHeaderBytes) return bytes.substr(wanted, size);
    at += frame->bytes - kFrameAlignment;
  }
  return std::nullopt;
}

Outcome<std::string> LogWindow::read(Lsn begin, std::size_t size) {
  const auto holds = [&](Lsn first, const std::string& bytes) {
    return begin >= first && begin - first <= bytes.size() &&
           size <= bytes.size() - (begin - first);
  };
  const auto after = kept_.upper_bound(begin);
  if (after != kept_.begin()) {
    const auto& [first, bytes] = *std::prev(after);
    if (holds(first, bytes)) return bytes.substr(begin - first, size);
  }
  const Outcome<Stretch> stretch = stretch_with(begin, size);
  if (!stretch) return stretch.error();
  Outcome<std::string> bytes = load(*stretch);
  if (!bytes || !holds(stretch->begin, *bytes)) {
    if (auto found = find_beyond_damage(*stretch, begin, size)) return *std::move(found);
  }
  if (!bytes) return bytes;
  if (!holds(stretch->begin, *bytes)) {
    return decayed(path_of(stretch->segment), stretch->begin - stretch->segment + bytes->size(),
                   "what was written there cannot be read back");
  }
  const std::size_t at = begin - stretch->begin;
  // Keeping a stretch that is longer than the cache would empty it for nothing.
  if (bytes->size() > kKeptBytesMax) {
    bytes->resize(at + size);
    bytes->erase(0, at);
    return bytes;
  }
  std::string wanted = bytes->substr(at, size);
  keep(stretch->begin, std::move(*bytes));
  return wanted;
}

void LogWindow::keep(Lsn begin, std::string bytes) {
  // The newest stretch grows while frames are added to it. It was read before, and was shorter
  // then.
  if (const auto former = kept_.find(begin); former != kept_.end()) {
    kept_bytes_ += bytes.size() - former->second.size();
    former->second = std::move(bytes);
  } else {
    kept_bytes_ += bytes.size();
    kept_.emplace(begin, std::move(bytes));
    kept_order_.push_back(begin);
  }
  // First in, first out: jobs are taken in order, so a stretch is seldom needed again.
  while (kept_bytes_ > kKeptBytesMax) {
    const auto oldest = kept_.find(kept_order_.front());
    kept_order_.pop_front();
    CHECK(oldest != kept_.end() && oldest->second.size() <= kept_bytes_);
    kept_bytes_ -= oldest->second.size();
    kept_.erase(oldest);
  }
}

void LogWindow::expect(Lsn begin, std::size_t size) {
  const Outcome<Stretch> stretch = stretch_with(begin, size);
  // Problems are left for `read`: this is only advice to the system.
  if (!stretch || kept_.contains(stretch->begin)) return;
  const Outcome<OpenSegment*> segment = open_segment(stretch->segment);
  if (!segment) return;
  (*segment)->file->expect(stretch->begin - stretch->segment, stretch->end - stretch->begin);
}

std::string LogWindow::path_of(Lsn segment) const {
  return directory_ + "/" + segment_name(segment);
}

}  // namespace millrace::journal
