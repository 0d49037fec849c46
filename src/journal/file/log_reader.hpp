#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/model/types.hpp"
#include "core/ports/journal.hpp"
#include "journal/file/file_system.hpp"
#include "journal/file/log_format.hpp"

namespace millrace::journal {

struct Segment {
  SegmentHeader header;
  std::optional<Lsn> sealed_at;  ///< where the next segment begins; nullopt for the last one
};

/// Where the log ends, as a replay found it.
struct LogEnd {
  Lsn end = 0;                  ///< of the last whole frame: the next one belongs here
  Lsn durable = 0;              ///< the log itself shows that it was synced up to here
  std::uint64_t cut_bytes = 0;  ///< from `end` to the last byte of a torn tail; 0: nothing was torn
};

/// Reads the log of one directory and changes nothing in it.
///
/// It tells a torn tail from damage. Frames that a crash cut short are expected in the last
/// segment: nobody was told that they are durable. The log ends before the first of them.
/// Everything else that is not as it was written, or that the disk does not give, is damage, and a
/// problem: one line with the file, the offset and the remedy.
class LogReader {
 public:
  /// Finds the segments and checks their headers. `files` must outlive the reader.
  static Outcome<LogReader> open(FileSystem& files, std::string directory);

  /// Hands every whole frame's payload to `visitor`, in order. A payload that the visitor cannot
  /// read is damage too. After a problem, the frames before it have been visited.
  [[nodiscard]] Outcome<LogEnd> replay(const Journal::Visitor& visitor) const;

  /// Oldest first, each beginning where the one before it ends.
  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }

  /// The end of the last file. The bytes before it may never have been written.
  [[nodiscard]] Lsn files_end() const { return files_end_; }

  /// Where the log ended when it was left in order; 0: it was not, or that is not known.
  [[nodiscard]] Lsn noted_end() const { return noted_end_; }

  /// False where no whole file says which segments there must be, though there are some.
  [[nodiscard]] bool has_extent() const { return has_extent_; }

  /// The directory has the file of `LogStarts`.
  [[nodiscard]] bool has_starts() const { return has_starts_; }

  /// The position of a last segment that a crash left without a header. It holds nothing.
  [[nodiscard]] std::optional<Lsn> begun() const { return begun_; }

 private:
  LogReader(FileSystem& files, std::string directory);

  Outcome<Done> add_segment(Lsn first, bool is_last);
  [[nodiscard]] Outcome<Done> check_lengths() const;
  [[nodiscard]] Outcome<Done> check_ends(const std::optional<LogExtent>& before) const;
  /// The offset where the disk does not give the bytes, which end there; nullopt: it gives all.
  using Gap = std::optional<std::uint64_t>;
  [[nodiscard]] Outcome<Gap> load(const Segment& segment, std::string& bytes) const;
  [[nodiscard]] Outcome<LogEnd> walk(const Segment& segment, std::string_view bytes, Gap gap,
                                     const Journal::Visitor& visitor) const;
  [[nodiscard]] std::string path_of(Lsn first) const;

  FileSystem* files_;
  std::string directory_;
  std::vector<Segment> segments_;
  std::optional<Lsn> begun_;
  Lsn files_end_ = 0;
  bool has_extent_ = true;
  bool has_starts_ = false;
  Lsn noted_end_ = 0;  ///< see LogExtent::end
};

}  // namespace millrace::journal
