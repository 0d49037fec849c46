#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/model/types.hpp"

namespace millrace {

/// Counts durations in log-linear bins: the steps from one bound to the next are between a 25th and
/// a 10th of the duration, from 100 µs to 28 h. It takes 8 bytes for each bin between the shortest
/// and the longest, at most 2.5 kB.
class Histogram {
 public:
  /// Steps of 10, 20 and 50 % of the first bound of each decade: so all decades have bounds that
  /// begin with 1, 2 and 5.
  static constexpr std::size_t kDecades = 9;
  static constexpr std::size_t kDecadeBounds = 35;
  static constexpr std::array<Duration, kDecades* kDecadeBounds + 1> kBounds = [] {
    std::array<Duration, kDecades * kDecadeBounds + 1> bounds{};
    Duration bound = 100us;
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
      bounds[i] = bound;
      const std::size_t place = i % kDecadeBounds;
      // The first bound of the decade is 1, 2 and 5 times less.
      bound += place < 10 ? bounds[i - place] / 10 : bounds[i - place] / (place < 25 ? 5 : 2);
    }
    bounds.back() = bound;
    return bounds;
  }();

  /// Whether `kBounds[i]` begins with 1, 2 or 5.
  [[nodiscard]] static constexpr bool is_round(std::size_t i) {
    const std::size_t place = i % kDecadeBounds;
    return place == 0 || place == 10 || place == 25;
  }

  void add(Duration took);
  void add(const Histogram& other);

  /// What was added after `before`, an earlier state of this one. If it has begun anew since, all.
  /// Nothing is known of the longest of these alone.
  [[nodiscard]] Histogram since(const Histogram& before) const;

  /// How many took longer than the bound before `kBounds[i]`, and no longer than this one; of the
  /// place after the last bound, longer than that.
  [[nodiscard]] std::uint64_t count_in(std::size_t i) const;
  [[nodiscard]] std::uint64_t count() const { return count_; }

  /// The duration that this part of all, from 0 to 1, do not exceed: right to 5 % from 100 µs on,
  /// and never above the longest. nullopt: there are none.
  [[nodiscard]] std::optional<Duration> quantile(double part) const;
  [[nodiscard]] Duration sum() const { return sum_; }

 private:
  std::uint64_t& bin(std::size_t i);

  std::vector<std::uint64_t> counts_;  ///< those of the bins from `first_` on
  std::size_t first_ = 0;
  std::uint64_t count_ = 0;
  Duration sum_{};
  Duration longest_{};
};

/// How often something happens now. It counts in two windows. The older one weighs less as the
/// newer one fills. So it needs no timer, and is exact for events at an even pace.
class Rate {
 public:
  static constexpr Duration kWindow = 15s;

  void add(Time now);
  /// What the other one counts happened here, too.
  void add(const Rate& other);
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
  void add(const Counter& other) {
    total += other.total;
    rate.add(other.rate);
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

/// The runs that a worker has reported. They are not stored.
struct WorkerMeter {
  Counter processed;  ///< runs that ended, failed ones included
  Counter failed;
  Duration busy{};  ///< how long these took, added up: with several at a time, more than has passed

  void add(RunEnd end, Duration took, Time now) {
    processed.add(now);
    if (end == RunEnd::kFailed) failed.add(now);
    busy += took;
  }
  void add(const WorkerMeter& other) {
    processed.add(other.processed);
    failed.add(other.failed);
    busy += other.busy;
  }
};

/// Measurements of the runs of one type of jobs, since the start of the process. They are not
/// stored.
struct TypeMeter {
  Counter processed;  ///< runs that ended, failed ones included
  Counter failed;
  Histogram run;   ///< from the reservation to the end of the run
  Time last_at{};  ///< when the last one ended
};

}  // namespace millrace
