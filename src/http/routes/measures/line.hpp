#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/model/meter.hpp"
#include "core/model/queue.hpp"
#include "core/model/types.hpp"

namespace millrace::http {

/// A number in 16 bits, or none: exact up to 2,047, and right to a part in two thousand up to four
/// trillion. Larger ones are that.
class SmallNumber {
 public:
  SmallNumber() = default;
  explicit SmallNumber(std::uint64_t number) : bits_(encode(number)) {}

  [[nodiscard]] std::optional<std::uint64_t> value() const {
    if (bits_ == kNone) return std::nullopt;
    return std::uint64_t{bits_ & kDigitsMax} << (bits_ >> kDigits);
  }

 private:
  static constexpr int kDigits = 11;
  static constexpr std::uint64_t kDigitsMax = (1U << kDigits) - 1;
  static constexpr int kShiftMax = 31;
  /// The largest number is one less.
  static constexpr std::uint16_t kNone = 0xFFFF;

  static std::uint16_t encode(std::uint64_t number) {
    int shift = std::max(0, static_cast<int>(std::bit_width(number)) - kDigits);
    if (shift > kShiftMax) return kNone - 1;
    if (shift > 0) number += std::uint64_t{1} << (shift - 1);
    // Rounded up, it may have one more digit.
    if (number >> shift > kDigitsMax) ++shift;
    const std::uint64_t bits = (std::uint64_t(shift) << kDigits) | (number >> shift);
    return static_cast<std::uint16_t>(std::min<std::uint64_t>(bits, kNone - 1));
  }

  std::uint16_t bits_ = kNone;
};

/// Appends the values of an array or a vector, as this machine has them, for `MeasureCopy`.
template <typename Values>
void append_bytes(const Values& values, std::string& bytes) {
  static_assert(std::is_trivially_copyable_v<typename Values::value_type>);
  bytes.append(reinterpret_cast<const char*>(values.data()),
               values.size() * sizeof(typename Values::value_type));
}

/// Takes as many values as there are in `values`. False: there are not so many.
template <typename Values>
[[nodiscard]] bool take_bytes(std::string_view& bytes, Values& values) {
  const std::size_t size = values.size() * sizeof(typename Values::value_type);
  if (bytes.size() < size) return false;
  std::memcpy(values.data(), bytes.data(), size);
  bytes.remove_prefix(size);
  return true;
}

/// A stretch of time up to now, in intervals of equal length.
struct Span {
  std::string_view name;
  Duration interval;
  std::size_t points;
};

inline constexpr std::array<Span, 6> kSpans = {Span{"15m", 10s, 90}, Span{"1h", 30s, 120},
                                               Span{"8h", 5min, 96}, Span{"24h", 10min, 144},
                                               Span{"7d", 1h, 168},  Span{"30d", 4h, 180}};

/// Spans whose points outlive them: a block of as many as the span has is written when it is
/// complete, so in a ring each point is where it is in its block.
struct Archived {
  std::size_t span;
  std::int64_t blocks;  ///< that are kept
};
inline constexpr std::array<Archived, 2> kArchived = {Archived{0, 96}, Archived{2, 90}};
static_assert(kSpans[0].interval * kSpans[0].points * 96 == 24h);
static_assert(kSpans[2].interval * kSpans[2].points * 90 == 30 * 24h);

/// The intervals of a span from `begin` to before `begin` of the next one.
struct Block {
  std::size_t span = 0;
  std::int64_t number = 0;

  [[nodiscard]] std::int64_t points() const {
    return static_cast<std::int64_t>(kSpans[span].points);
  }
  [[nodiscard]] std::int64_t begin() const { return number * points(); }
};

/// Of each span, how many of its intervals have ended since the beginning of time.
using Ends = std::array<std::int64_t, kSpans.size()>;
[[nodiscard]] Ends ends_at(Time now);

/// What meters show at a moment. All but `ready` only grows, until a meter begins anew.
struct Reading {
  std::uint64_t ready = 0;
  std::uint64_t enqueued = 0;
  std::uint64_t processed = 0;  ///< runs that ended, failed ones included
  std::uint64_t failed = 0;
  Histogram wait;
  Histogram run;
};

[[nodiscard]] Reading reading_of(const Queue& queue);
[[nodiscard]] Reading reading_of(const TypeMeter& meter);

/// Adds how long that waited and ran which came between two readings.
void add_times(const Reading& before, const Reading& now, Reading& sum);

/// What happened in an interval. How many jobs were ready at its end; how many came, and how many
/// runs ended and failed; how long half and 95 % of the jobs waited and ran at most, in units of
/// `kTimeUnit`, or none.
struct Point {
  SmallNumber ready;
  SmallNumber enqueued;
  SmallNumber processed;
  SmallNumber failed;
  SmallNumber wait_p50;
  SmallNumber wait_p95;
  SmallNumber run_p50;
  SmallNumber run_p95;
};
static_assert(sizeof(Point) == 16);
inline constexpr Duration kTimeUnit = 10us;

/// The recent past of something that is measured, in each span. It takes 13 kB.
class Line {
 public:
  /// What the meters show at `ends` came in the interval of the shortest span that ended last; with
  /// `is_old`, earlier.
  Line(const Reading& first, const Ends& ends, bool is_old);

  /// To be called whenever an interval has ended. After a longer time, what came since is spread
  /// over all intervals, the rest in the last one. True: something came, or waits.
  bool note(const Reading& reading, const Ends& ends);

  /// The meters have begun anew, with what `first` shows, in the interval that ends last. Before
  /// that, nothing came and nothing waited.
  void restart(const Ends& ends, Reading first = {});

  /// What came since `end` is not known: an earlier process had this line, and has ended since.
  /// What it carried on is known to have come.
  void leave_gap(const Ends& ends);

  /// At the last end of an interval of the shortest span.
  [[nodiscard]] const Reading& last() const { return rings_.front().before; }

  /// After the last interval of a span.
  [[nodiscard]] std::int64_t end(std::size_t span = 0) const { return rings_[span].end; }

  /// Those of a span that have ended, the oldest first: fewer than `Span::points` if the line began
  /// later. When nothing was read any more, nothing came.
  [[nodiscard]] std::vector<Point> points(std::size_t span, std::int64_t ends) const;

  /// All points of a block that the ring still has, and others without a value. Empty: nothing came
  /// or waited in it.
  [[nodiscard]] std::vector<Point> points_in(const Block& block) const;

  /// For `MeasureCopy`, without what the meters showed: `restart` follows `load`. nullopt: it has
  /// other spans, or is of a time to come.
  [[nodiscard]] std::string save() const;
  [[nodiscard]] static std::optional<Line> load(std::string_view saved, Time now);

 private:
  Line() = default;

  /// How many jobs came, and how many runs ended and failed.
  using Carried = std::array<std::uint64_t, 3>;

  /// A ring of the points of a span. That of the interval i is at i modulo their number.
  struct Ring {
    std::vector<Point> points;
    std::int64_t begin = 0;  ///< the first interval
    std::int64_t end = 0;    ///< after the last one
    Reading before;          ///< at the end of the last one
    /// What came after the last one to an earlier process: it belongs to the next one.
    Carried carried{};
  };

  static void add(const Carried& carried, Point& point);
  static bool note_in(Ring& ring, const Reading& reading, std::int64_t end);

  std::array<Ring, kSpans.size()> rings_;
};

}  // namespace millrace::http
