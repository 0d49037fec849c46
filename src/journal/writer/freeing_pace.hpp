#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

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

}  // namespace millrace::journal
