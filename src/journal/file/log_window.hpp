#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "core/model/types.hpp"
#include "journal/file/file_system.hpp"
#include "journal/file/log_format.hpp"

namespace millrace::journal {

/// Reads parts of frames back from the segments of one directory. It answers only with bytes whose
/// frame has the right checksums.
///
/// A frame can be checked only as a whole, and is found by going from frame to frame. So the log is
/// read in stretches: from a mark, where a frame is known to begin, to the next one. There is a
/// mark in about 16 KiB, which costs half a thousandth of the log's length in memory. The stretches
/// that were read last are kept, since jobs are mostly read in the order of the log.
class LogWindow {
 public:
  /// `files` must outlive the window.
  LogWindow(FileSystem& files, std::string directory)
      : files_(files), directory_(std::move(directory)) {}

  /// A frame is at [begin, end), in that segment. To be called for each, in the order of the log.
  void note_frame(Lsn segment, Lsn begin, Lsn end);

  /// Nothing before it will be read any more.
  void forget_before(Lsn segment);

  /// The bytes at [begin, begin + size) of the frames noted, which must have been written.
  [[nodiscard]] Outcome<std::string> read(Lsn begin, std::size_t size);

  /// These bytes will soon be read: the system may begin to fetch them.
  void expect(Lsn begin, std::size_t size);

 private:
  struct Mark {
    Lsn begin;  ///< of a frame
    Lsn segment;
  };
  /// What is read at a time. `end` may be after the last byte that was written.
  struct Stretch {
    Lsn segment;
    Lsn begin;
    Lsn end;
  };
  struct OpenSegment {
    std::unique_ptr<File> file;
    SegmentHeader header;
  };

  [[nodiscard]] Outcome<Stretch> stretch_with(Lsn begin, std::size_t size) const;
  [[nodiscard]] Outcome<OpenSegment*> open_segment(Lsn segment);
  /// The frames of a stretch as far as they are whole.
  [[nodiscard]] Outcome<std::string> load(const Stretch& stretch);
  [[nodiscard]] std::optional<std::string> find_beyond_damage(const Stretch& stretch, Lsn begin,
                                                              std::size_t size);
  void keep(Lsn begin, std::string bytes);
  [[nodiscard]] std::string path_of(Lsn segment) const;

  FileSystem& files_;
  const std::string directory_;
  std::deque<Mark> marks_;
  Lsn end_ = 0;                          ///< of the last frame
  std::map<Lsn, OpenSegment> segments_;  ///< a few
  std::map<Lsn, std::string> kept_;      ///< whole frames, by where they begin
  std::deque<Lsn> kept_order_;           ///< the first one kept first
  std::size_t kept_bytes_ = 0;
};

/// Marks are at most this far apart, except where a frame is longer.
inline constexpr std::uint64_t kMarkBytes = 16 * 1024;

/// How many bytes of the stretches read last are kept.
inline constexpr std::size_t kKeptBytesMax = std::size_t{4} << 20;

}  // namespace millrace::journal
