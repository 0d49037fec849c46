#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace bench {

/// Counts durations in nanoseconds, each within 1/32 of itself, so that the percentiles of any
/// number of them cost the same few kilobytes.
class Histogram {
 public:
  void add(std::uint64_t ns) {
    ++counts_[index(ns)];
    ++total_;
    max_ = std::max(max_, ns);
  }

  [[nodiscard]] std::uint64_t max() const { return max_; }
  [[nodiscard]] std::uint64_t count() const { return total_; }

  /// The duration that a share of all (0 to 1) did not exceed.
  [[nodiscard]] std::uint64_t percentile(double share) const {
    const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(total_));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen > wanted) return std::min(upper_bound(i), max_);
    }
    return max_;
  }

 private:
  // Below 64 each value has a place of its own; above, each power of two has 32.
  static constexpr unsigned kBits = 5;
  static constexpr std::size_t kPlaces = (64 - kBits) << kBits;

  static std::size_t index(std::uint64_t ns) {
    const unsigned width = static_cast<unsigned>(std::bit_width(ns));
    if (width <= kBits + 1) return static_cast<std::size_t>(ns);
    const unsigned shift = width - kBits - 1;
    return (static_cast<std::size_t>(shift) << kBits) + static_cast<std::size_t>(ns >> shift);
  }
  static std::uint64_t upper_bound(std::size_t index) {
    if (index < (std::size_t{2} << kBits)) return index;
    const std::size_t shift = (index >> kBits) - 1;
    const std::uint64_t lead = (index & ((1u << kBits) - 1)) | (1u << kBits);
    return ((lead + 1) << shift) - 1;
  }

  std::array<std::uint64_t, kPlaces + (std::size_t{2} << kBits)> counts_{};
  std::uint64_t total_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace bench
