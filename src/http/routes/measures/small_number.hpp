#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

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

}  // namespace millrace::http
