#include "journal/writer/log_layout.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "journal/file/log_format.hpp"

namespace millrace::journal {

void SegmentRooms::tell(LogWriter::Rooms rooms) {
  const std::lock_guard guard(mutex_);
  rooms_ = std::move(rooms);
}

std::optional<std::uint64_t> SegmentRooms::of_newest(const std::deque<Lsn>& segments) const {
  const std::lock_guard guard(mutex_);
  // The rooms are as the writer saw them last. Meanwhile more segments may have been placed, and
  // the one it writes may have been removed.
  const auto present = std::lower_bound(segments.begin(), segments.end(), rooms_.first);
  if (present == segments.end() || *present != rooms_.first) return std::nullopt;
  const auto later = static_cast<std::size_t>(segments.end() - present) - 1;
  if (later >= rooms_.bytes.size()) return std::nullopt;
  return rooms_.bytes[later];
}

void LogLayout::resume(std::deque<Lsn> segments, Lsn end) {
  CHECK(segments_.empty() && !segments.empty());
  segments_ = std::move(segments);
  end_ = end;
}

LogLayout::Place LogLayout::place(std::size_t frame_bytes) {
  CHECK(!segments_.empty() && segments_.back() + kSegmentHeaderBytes <= end_);
  const Lsn used = end_ - segments_.back();
  // A batch that is longer than a segment gets one of its own: a batch is never cut.
  const bool is_over = std::exchange(is_newest_over_, false);
  if (used > kSegmentHeaderBytes && (is_over || used + frame_bytes > newest_room())) {
    segments_.push_back(end_);
    end_ += kSegmentHeaderBytes;
  }
  const Place place{.segment = segments_.back(), .begin = end_, .end = end_ + frame_bytes};
  end_ = place.end;
  return place;
}

std::uint64_t LogLayout::newest_room() const {
  return rooms_.of_newest(segments_).value_or(segment_bytes_);
}

std::vector<Lsn> LogLayout::trim(Lsn before) {
  std::vector<Lsn> trimmed;
  // A segment is needed as long as the next one begins after `before`. The newest always stays: it
  // is being written.
  while (segments_.size() > 1 && segments_[1] <= before) {
    trimmed.push_back(segments_.front());
    segments_.pop_front();
  }
  return trimmed;
}

Journal::Extent LogLayout::extent() const {
  const Lsn begin = segments_.front();
  return {.begin = begin,
          .oldest_end = segments_.size() > 1 ? segments_[1] : begin,
          .newest_begin = segments_.back(),
          .end = end_,
          .segment_bytes = segment_bytes_};
}

}  // namespace millrace::journal
