#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/model/record_batch.hpp"
#include "core/model/types.hpp"
#include "journal/file/file_system.hpp"
#include "journal/file/log_files.hpp"
#include "journal/file/log_format.hpp"
#include "journal/file/log_reader.hpp"
#include "journal/file/removal.hpp"
#include "journal/file/reserve.hpp"

namespace millrace::journal {

/// The file that tells which segments there must be, so that a start notices when one is missing.
/// Where the disk has no room for it, it is left out: then only a gap tells of a missing segment.
class ExtentFile {
 public:
  /// `files` must outlive it.
  ExtentFile(FileSystem& files, const std::string& directory);

  /// Whether the directory has the file. To be called before `note`; without the call it has none.
  void resume(bool exists) { exists_ = exists; }

  /// On stable storage when it returns.
  [[nodiscard]] Outcome<Done> note(const LogExtent& extent);

 private:
  [[nodiscard]] Outcome<Done> open();
  [[nodiscard]] Outcome<Done> write(const LogExtent& extent);

  FileSystem& files_;
  const std::string directory_;
  const std::string path_;
  bool exists_ = false;         ///< in the directory
  std::unique_ptr<File> file_;  ///< null: it is not open
};

/// A batch and its place in the log.
struct PlacedBatch {
  Lsn segment = 0;  ///< the position of its segment's header
  Lsn begin = 0;    ///< its first byte, after the frame header
  RecordBatch payload;

  [[nodiscard]] Lsn end() const { return begin + payload.size(); }
  [[nodiscard]] Lsn frame_begin() const { return begin - kFrameHeaderBytes; }
  [[nodiscard]] Lsn frame_end() const { return frame_begin() + frame_bytes(payload.size()); }
};

/// Puts frames into the segments of one directory. Somebody else decides on their positions. It
/// knows no threads.
///
/// After a problem no further call is allowed: the next recovery finds out what is on the disk. A
/// disk without room is the exception: the same call can be made again.
class LogWriter {
 public:
  struct Options {
    std::uint64_t segment_bytes = 0;      ///< what is preallocated; longer batches get more
    std::uint64_t salt = 0;               ///< of new segments
    std::uint64_t start_id = 0;           ///< of this process; see `LogStart`
    bool zeroes_ahead = false;            ///< see `write_run`
    std::uint64_t reserved_segments = 0;  ///< for a full disk
  };

  /// `files` must outlive the writer.
  LogWriter(FileSystem& files, std::string directory, Options options);

  /// Makes the log found by a replay ready to be continued, and durable: removes a begun segment,
  /// wipes out the torn tail, and syncs the rest. An empty directory gets its first segment.
  [[nodiscard]] Outcome<Done> resume(const LogReader& reader, const LogEnd& log);

  /// The space reserved for a full disk. While the reserve is not whole, new segments are made of
  /// its files, and removed ones become part of it again.
  [[nodiscard]] Reserve& reserve() { return reserve_; }

  /// How long the present segment is, and how long the next ones can be on a full disk.
  struct Rooms {
    Lsn first = 0;                     ///< where the present segment begins
    std::vector<std::uint64_t> bytes;  ///< of it, and of those that the reserve would lend
  };
  [[nodiscard]] Rooms rooms() const;

  /// How long the log can become on a full disk.
  [[nodiscard]] std::uint64_t bytes_max() const;

  /// Writes the batches, which follow each other and everything written before. A batch with a new
  /// segment seals the old one first. Batches that an earlier call wrote before it ran out of space
  /// are skipped. Out of space: also after `removal()` was finished, for their room.
  [[nodiscard]] Outcome<Done> write(std::span<const PlacedBatch> batches);

  [[nodiscard]] Outcome<Done> sync();

  /// Removes whole segments, oldest first; `oldest` is the first that stays. `removal()` frees
  /// their room.
  [[nodiscard]] Outcome<Done> remove(std::span<const Lsn> segments, Lsn oldest);

  /// Removed segments that still take room.
  [[nodiscard]] Removal& removal() { return removal_; }

  /// The position of the oldest segment's header.
  [[nodiscard]] Lsn oldest() const { return oldest_; }

  /// Why the reserve was used for a segment, the last time; empty: it never was.
  [[nodiscard]] const std::string& no_room() const { return no_room_; }

  /// Whether its file has another name, so that removing it frees nothing.
  [[nodiscard]] Outcome<bool> is_oldest_shared();

  /// Syncs, gives back the space of removed segments and, unless the disk is full, preallocated
  /// space, and notes where the log ends.
  [[nodiscard]] Outcome<Done> close();

  [[nodiscard]] Lsn written() const { return written_; }
  [[nodiscard]] Lsn synced() const { return synced_; }

  /// The position of the present segment's header.
  [[nodiscard]] Lsn segment() const { return header_.first; }

 private:
  Outcome<Done> check_files(const LogNames& names);
  Outcome<Done> continue_log(const LogReader& reader, const LogEnd& log, const LogNames& names);
  Outcome<Done> continue_segment(const Segment& segment, const LogEnd& log);
  Outcome<Done> write_again(Lsn begin, Lsn end);
  Outcome<Done> find_room();
  Outcome<Done> begin_segment(Lsn first, std::uint64_t bytes);
  Outcome<Done> note_extent(Lsn end = 0);
  Outcome<Done> write_rest(std::span<const PlacedBatch> batches);
  Outcome<Done> write_run(std::span<const PlacedBatch> batches);
  Outcome<RoomyFile> open_segment(const SegmentHeader& header, std::uint64_t bytes);
  Outcome<RoomyFile> create_segment(const SegmentHeader& header, std::uint64_t room);
  [[nodiscard]] std::string path_of(Lsn first) const;

  FileSystem& files_;
  std::string directory_;
  Options options_;
  Reserve reserve_;
  Removal removal_;
  ExtentFile extent_;

  std::unique_ptr<File> file_;
  SegmentHeader header_;
  std::uint64_t room_ = 0;  ///< how long the file of the present segment is
  Lsn zeroed_ = 0;          ///< up to here the disk holds frames or zeros that we wrote
  Lsn written_ = 0;
  Lsn synced_ = 0;
  Lsn oldest_ = 0;  ///< the position of the oldest segment's header
  std::string no_room_;

  const std::vector<char> zeros_;
  std::vector<std::array<char, kFrameHeaderBytes>> headers_;
  std::vector<std::string_view> parts_;
};

}  // namespace millrace::journal
