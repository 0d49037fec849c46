#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/model/types.hpp"

namespace millrace {

/// Counts durations by size: one count for each range between two bounds.
class Histogram {
 public:
  static constexpr std::array<Duration, 16> kBounds = {1ms, 5ms, 10ms, 50ms, 100ms, 500ms, 1s, 5s,
                                                       10s, 30s, 60s,  300s, 30min, 1h,    6h, 24h};

  /// Element i counts the durations above the bound before it, up to and including `kBounds[i]`.
  /// The last element counts those above all bounds.
  using Counts = std::array<std::uint64_t, kBounds.size() + 1>;

  void add(Duration took);

  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// About the duration that this part of all, from 0 to 1, do not exceed: between two bounds they
  /// are taken to lie evenly. Beyond the last bound it is that bound. nullopt: there are none.
  [[nodiscard]] std::optional<Duration> quantile(double part) const;
  [[nodiscard]] Duration sum() const { return sum_; }

 private:
  Counts counts_{};
  std::uint64_t count_ = 0;
  Duration sum_{};
};

/// `Histogram::quantile` of these counts, which are `count` in all.
[[nodiscard]] std::optional<Duration> quantile_of(const Histogram::Counts& counts,
                                                  std::uint64_t count, double part);

/// How often something happens now. It counts in two windows. The older one weighs less as the
/// newer one fills. So it needs no timer, and is exact for events at an even pace.
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

/// A number that only grows, and its present rate.
struct Counter {
  std::uint64_t total = 0;
  Rate rate;

  void add(Time now) {
    ++total;
    rate.add(now);
  }
};

/// Measurements of a queue since its creation in this process. They are not stored.
struct QueueMeter {
  Counter enqueued;   ///< jobs put or pushed, whether due or not
  Counter processed;  ///< runs that ended, failed ones included
  Counter failed;
  Histogram wait;           ///< from becoming ready to the reservation
  Histogram run;            ///< from the reservation to the end of the run
  Time last_reserved_at{};  ///< the epoch: never
};

/// How a run has ended.
enum class RunEnd { kDone, kFailed };

/// Measurements of the runs of one type of jobs, since the start of the process. They are not
/// stored.
struct TypeMeter {
  Counter processed;  ///< runs that ended, failed ones included
  Counter failed;
  Histogram run;   ///< from the reservation to the end of the run
  Time last_at{};  ///< when the last one ended
};

}  // namespace millrace
