#include "journal/writer/segment_rooms.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

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

}  // namespace millrace::journal
