#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/model/types.hpp"

namespace millrace {

/// How long things took: how many took at most so long, for each of some bounds.
class Histogram {
 public:
  static constexpr std::array<Duration, 16> kBounds = {1ms, 5ms, 10ms, 50ms, 100ms, 500ms, 1s, 5s,
                                                       10s, 30s, 60s,  300s, 30min, 1h,    6h, 24h};

  void add(Duration took);

  /// How many took at most `kBounds[i]` and longer than the bound before it; the last: even longer.
  [[nodiscard]] const std::array<std::uint64_t, kBounds.size() + 1>& counts() const {
    return counts_;
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] Duration sum() const { return sum_; }

 private:
  std::array<std::uint64_t, kBounds.size() + 1> counts_{};
  std::uint64_t count_ = 0;
  Duration sum_{};
};

/// How often something happens now. It keeps two windows, of which the older one fades as the newer
/// one fills: so it needs no timer, and is exact when things happen evenly.
class Rate {
 public:
  static constexpr Duration kWindow = 15s;

  void add(Time now);
  [[nodiscard]] double per_second(Time now) const;

 private:
  [[nodiscard]] static std::int64_t window_of(Time now);

  std::int64_t window_ = 0;
  std::uint32_t current_ = 0;
  std::uint32_t previous_ = 0;
};

/// A number that only grows, and how fast it does so now.
struct Counter {
  std::uint64_t total = 0;
  Rate rate;

  void add(Time now) {
    ++total;
    rate.add(now);
  }
};

/// What was measured of a queue since it came into being; not stored.
struct QueueMeter {
  Counter enqueued;   ///< jobs put or pushed, whether due or not
  Counter processed;  ///< runs that ended, failed ones included
  Counter failed;
  Histogram wait;           ///< from the entry into the queue to the reservation
  Histogram run;            ///< from the reservation to the end of the run
  Time last_reserved_at{};  ///< the epoch: never
};

}  // namespace millrace
