#pragma once

#include <cstdint>

#include "base/check.hpp"
#include "core/model/types.hpp"

namespace millrace {

/// Where the newest whole record of a live thing is: in the batch that is being collected, or in
/// the log. One bit tells which, so that a place takes eight bytes: positions stay below 2^63.
class LogPlace {
 public:
  LogPlace() = default;

  /// At this offset of the batch, which has no position in the log yet.
  [[nodiscard]] static LogPlace in_batch(std::uint64_t offset) {
    LogPlace place;
    place.bits_ = kInBatch | offset;
    return place;
  }

  [[nodiscard]] static LogPlace in_log(Lsn at) {
    LogPlace place;
    place.bits_ = at;
    return place;
  }

  [[nodiscard]] bool is_in_log() const { return (bits_ & kInBatch) == 0; }

  /// Of a place in the log.
  [[nodiscard]] Lsn lsn() const {
    CHECK(is_in_log());
    return bits_;
  }

  /// The batch is now in the log, and begins there.
  void settle(Lsn begin) {
    CHECK(!is_in_log());
    bits_ = (begin + (bits_ & ~kInBatch)) & ~kInBatch;
  }

 private:
  static constexpr std::uint64_t kInBatch = std::uint64_t{1} << 63;

  std::uint64_t bits_ = kInBatch;
};

/// What a live thing carries to be found in the order of the log (`LogOrder`): 16 bytes. The
/// neighbours are slots, and kNoSlot at the ends: an optional would double them, and there is one
/// node for each job.
struct LogNode {
  LogPlace place;
  std::uint32_t older = kNoSlot;
  std::uint32_t newer = kNoSlot;
};

}  // namespace millrace
