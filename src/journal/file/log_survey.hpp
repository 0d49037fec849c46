#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/model/types.hpp"
#include "journal/file/file_system.hpp"

/// A look at a whole log that does not end at the first damage.
namespace millrace::journal {

/// Something of a log that is not as it was written.
struct Damage {
  std::string file;                  ///< its name in the directory
  std::optional<std::uint64_t> at;   ///< the offset where it begins; nullopt: all of the file
  std::optional<std::uint64_t> end;  ///< from here on it can be read again
  std::string what;

  bool operator==(const Damage&) const = default;
};

/// For a list of them: the file, the bytes, and what is wrong.
[[nodiscard]] std::string text_of(const Damage& damage);

/// One segment as it lies there.
struct SegmentFinding {
  Lsn first = 0;
  std::uint64_t bytes = 0;                  ///< of the log, a torn tail and unused room left out
  std::uint64_t batches = 0;                ///< that are whole
  std::uint64_t records = 0;                ///< in them
  bool is_begun = false;                    ///< a crash left it without a header: it holds nothing
  std::optional<std::uint64_t> damaged_at;  ///< the first damage
  std::uint64_t torn_bytes = 0;             ///< after `bytes`; 0: nothing is torn
};

struct Survey {
  std::vector<SegmentFinding> segments;  ///< oldest first
  std::vector<Damage> damages;           ///< in the order of the log
  /// The segments of one process come between those of another, so both wrote at the same time: the
  /// first one of those that come too late.
  std::optional<Lsn> mixed_at;
  bool has_extent = false;  ///< false: a segment missing at either end shows nowhere
};

/// What became of a batch.
struct BatchTaken {
  std::uint64_t records = 0;
  std::optional<Problem> fault;  ///< why it cannot be read, though its checksums are right
};

/// Given every batch that is whole, in order, with the position of its first byte. A problem ends
/// the survey.
using BatchTaker = std::function<Outcome<BatchTaken>(std::string_view batch, Lsn begin)>;

enum class Purpose {
  kCheck,    ///< there is damage just where a server does not start; a torn tail ends the log
  kSalvage,  ///< every whole frame is read, also after a torn one
};

/// Reads all segments of `directory`, one at a time, and changes nothing. A problem: no journal is
/// there, it cannot be listed, a segment is of another version or, for `kCheck`, cannot be opened.
[[nodiscard]] Outcome<Survey> survey(FileSystem& files, const std::string& directory,
                                     Purpose purpose, const BatchTaker& take);

/// The first damage, as the refusal of a start: file, offset, and what to do.
[[nodiscard]] Problem refusal_of(const std::string& directory, const Damage& damage);

}  // namespace millrace::journal
