#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "journal/writer/log_writer.hpp"
#include "journal/writer/segment_rooms.hpp"
#include "journal/writer/writer_status.hpp"

namespace millrace::journal {

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
