#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "core/model/types.hpp"
#include "core/ports/journal.hpp"
#include "journal/writer/log_writer.hpp"

namespace millrace::journal {

/// How long the newest segments are, or will be. The writer tells it, and who places batches asks,
/// on another thread. On a full disk a segment is as long as the file that it is made of.
class SegmentRooms {
 public:
  void tell(LogWriter::Rooms rooms);

  /// The length of the last of these segments, in bytes; nullopt: the usual length. The segments
  /// are in order, and the writer may not have begun the last ones yet.
  [[nodiscard]] std::optional<std::uint64_t> of_newest(const std::deque<Lsn>& segments) const;

 private:
  mutable std::mutex mutex_;
  LogWriter::Rooms rooms_;  ///< under the mutex
};

/// Decides where batches belong: which segments the log has, and which bytes of them a batch gets.
/// It only counts; the writer makes the segments and writes the bytes later.
///
/// Positions are bytes from the beginning of all that was ever written. A segment is named by the
/// position of its header. Used by the thread that appends.
class LogLayout {
 public:
  /// `segment_bytes` is the usual length of a segment. `rooms` must outlive the layout; it tells
  /// the lengths of others.
  LogLayout(std::uint64_t segment_bytes, const SegmentRooms& rooms)
      : segment_bytes_(segment_bytes), rooms_(rooms) {}

  /// The log that a replay found: where its segments begin, oldest first, of which there is at
  /// least one, and where it ends. To be called once, before everything below.
  void resume(std::deque<Lsn> segments, Lsn end);

  struct Place {
    Lsn segment = 0;
    Lsn begin = 0;  ///< of the frame
    Lsn end = 0;    ///< of the frame
  };

  /// The next place, for a frame of that length; in a new segment when the newest one holds
  /// something and has no room for it.
  [[nodiscard]] Place place(std::size_t frame_bytes);

  /// The next place is in a new segment, unless the newest one holds nothing.
  void end_segment() { is_newest_over_ = true; }

  /// Forgets the segments that end at `before` or earlier, and answers them, oldest first. The
  /// newest one stays.
  std::vector<Lsn> trim(Lsn before);

  [[nodiscard]] Journal::Extent extent() const;
  [[nodiscard]] Lsn oldest() const { return segments_.front(); }
  [[nodiscard]] Lsn end() const { return end_; }
  [[nodiscard]] std::size_t segment_count() const { return segments_.size(); }

 private:
  [[nodiscard]] std::uint64_t newest_room() const;

  const std::uint64_t segment_bytes_;
  const SegmentRooms& rooms_;
  std::deque<Lsn> segments_;  ///< those not trimmed, written or to be written
  bool is_newest_over_ = false;
  Lsn end_ = 0;  ///< where the next frame would begin
};

}  // namespace millrace::journal
