#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "journal/writer/log_layout.hpp"
#include "journal/writer/log_writer.hpp"
#include "journal/writer/writer_status.hpp"

namespace millrace::journal {

/// At least this much of the removed segments is freed at a time, a millisecond apart; and this
/// many times as much as is written meanwhile, so that the files together take no more than before.
inline constexpr std::uint64_t kFreedBytesMin = std::uint64_t{256} << 10;
inline constexpr std::uint64_t kFreePace = 2;

/// How long syncs have the disk to themselves before more of a removed segment is freed.
inline constexpr std::chrono::milliseconds kFreeInterval{1};

/// How much of the removed segments is freed, and when: a little at a time while nothing is
/// written, and in proportion to what is written. It is given the time. Used by the writer's
/// thread.
class FreeingPace {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit FreeingPace(std::chrono::milliseconds interval) : interval_(interval) {}

  /// How many bytes to free at `now`, when that many more were written since the last call; 0: none
  /// yet.
  [[nodiscard]] std::uint64_t due(std::uint64_t written, Time now) {
    owed_ += kFreePace * written;
    return now >= next_ || owed_ >= kFreedBytesMin ? std::max(owed_, kFreedBytesMin) : 0;
  }

  /// What was due has been freed, and `now` it is done.
  void freed(Time now) {
    owed_ = 0;
    next_ = now + interval_;
  }

  /// When more is due although nothing is written.
  [[nodiscard]] Time next() const { return next_; }

 private:
  const std::chrono::milliseconds interval_;
  std::uint64_t owed_ = 0;  ///< what must be freed for what was written since
  Time next_{};
};

/// Notices that the disk is full, looks for room, and notices that it is not full any more. The
/// disk counts as full as long as the reserve is not whole.
///
/// It tells what clients and compaction must know of it: the status, and the rooms of segments. It
/// is given the time. Used by the writer's thread.
class SpaceWatch {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Options {
    std::uint64_t segment_bytes = 0;
    std::chrono::milliseconds look_interval{0};  ///< how often it looks for room for the reserve
  };

  /// All of them must outlive it.
  SpaceWatch(LogWriter& log, WriterStatus& status, SegmentRooms& rooms, Options options)
      : log_(log), status_(status), rooms_(rooms), options_(options) {}

  /// Takes the reserve, when the log was resumed. True when the disk is full: then the reserve has
  /// only what there is room for.
  [[nodiscard]] Outcome<bool> begin();

  /// A write has found no room, or has used the reserve, because of `problem`.
  void note_full(Time now, std::string problem);

  /// How much room there is, and how much is needed for the disk not to be full.
  [[nodiscard]] std::string lack_of_room() const {
    return log_.reserve().lack_of_room(options_.segment_bytes);
  }

  /// After each round on a full disk: takes back what the reserve lacks. Once the interval is over,
  /// also looks whether there is room for the whole reserve and a segment: then the disk is not
  /// full.
  [[nodiscard]] Outcome<Done> look(Time now);

  /// When to look next.
  [[nodiscard]] Time next_look() const { return next_look_; }

  /// Tells how long segments, and the log, can become.
  void publish_rooms();

 private:
  void set(bool is_full, Time now, std::string problem = {});

  LogWriter& log_;
  WriterStatus& status_;
  SegmentRooms& rooms_;
  const Options options_;
  Time next_look_{};
};

}  // namespace millrace::journal
