#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "core/model/job.hpp"
#include "core/model/types.hpp"

namespace millrace::tools {

/// A job as a record of beanstalkd's binlog has it. Times are those of the wall clock.
struct BinlogRecord {
  /// The numbers in the log.
  enum class State : std::uint8_t { kDeleted = 0, kReady = 1, kReserved = 2, kBuried, kDelayed };

  JobId id = 0;
  Pri pri = 0;
  Duration delay{};  ///< the one last asked for
  Duration ttr{};
  Time created_at{};
  Time deadline_at{};  ///< of a delayed job: when it is due
  Tallies tallies;
  State state = State::kReady;

  bool is_whole = false;  ///< the tube and the body are there; otherwise it is a change
  std::string_view tube;
  std::size_t body_at = 0;     ///< offset in the file
  std::size_t body_bytes = 0;  ///< without the line end that follows
};

/// Reads one file of beanstalkd's binlog, whose bytes must outlive the reader. A file has the
/// version of its format in 4 bytes, records, and zeros where nothing was written yet. All numbers
/// are those of a 64-bit machine with the low bytes first:
///
///     version 7:  name_bytes(4) name job(80) [ body CR LF ]
///     version 5:  name_bytes(8) name job(77) [ body CR LF ]
///     job:        id(8) pri(4) -(4) delay(8) ttr(8) body_bytes(4) -(4)
///                 created_at(8) deadline_at(8)
///                 reserves(4) timeouts(4) releases(4) buries(4) kicks(4) state(1) [ -(3) ]
///
/// `body_bytes` includes CR LF. A record without a name has no body: it changes a job. Times are in
/// nanoseconds, in version 5 in microseconds.
///
/// There are no checksums. So whatever cannot be is taken for damage, and ends the file: nothing
/// tells where the next record begins. beanstalkd fills a file with zeros before it writes records,
/// so a record that a crash left half-written ends in zeros. Only one that is longer than a whole
/// file may end with the file, and that cannot be told from half a copy.
class BinlogReader {
 public:
  /// A problem: it is of another version, or no binlog at all. The text does not name the file.
  [[nodiscard]] static Outcome<BinlogReader> open(std::string_view bytes);

  /// nullopt: there are no more that can be read.
  [[nodiscard]] std::optional<BinlogRecord> next();

  /// How the file ended, once there was no more record.
  enum class End {
    kWhole,    ///< by its end, or by zeros
    kTorn,     ///< in the middle of a record, by zeros, as a crash leaves it
    kCut,      ///< in the middle of a record, by its end, as a crash hardly leaves it: see above
    kDamaged,  ///< by something that is no record
  };
  [[nodiscard]] End end() const { return end_; }

  /// Where the next record begins; of a file that has ended, where it ended.
  [[nodiscard]] std::size_t offset() const { return offset_; }

 private:
  BinlogReader(std::string_view bytes, bool is_old) : bytes_(bytes), is_old_(is_old) {}

  [[nodiscard]] std::optional<BinlogRecord> finish(End end);
  /// `bytes`: how long the next record is that cannot be right.
  [[nodiscard]] std::optional<BinlogRecord> finish_broken(std::size_t bytes);
  [[nodiscard]] BinlogRecord read_job(std::string_view job) const;

  std::string_view bytes_;
  std::size_t offset_ = kVersionBytes;
  bool is_old_;  ///< version 5
  End end_ = End::kWhole;

  static constexpr std::size_t kVersionBytes = 4;
};

}  // namespace millrace::tools
