#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

namespace millrace::access {

/// What somebody may do with the jobs of a queue. `kAdmin` is about the server as a whole.
enum class Right : std::uint8_t {  // in the log: new ones at the end
  kPush,                           ///< add jobs
  kWork,                           ///< take jobs, and end those that were taken
  kView,                           ///< see jobs and figures
  kOperate,                        ///< pause, retry, kick, kill, move, delete
  kAdmin,                          ///< FLUSH, and what no queue has: alerts
};

inline constexpr std::array kRightNames = {
    std::pair{"push", Right::kPush}, std::pair{"work", Right::kWork},
    std::pair{"view", Right::kView}, std::pair{"operate", Right::kOperate},
    std::pair{"admin", Right::kAdmin}};

[[nodiscard]] constexpr std::string_view name_of(Right right) {
  for (const auto& [name, each] : kRightNames) {
    if (each == right) return name;
  }
  return {};
}

[[nodiscard]] constexpr std::optional<Right> right_of(std::string_view name) {
  for (const auto& [each, right] : kRightNames) {
    if (each == name) return right;
  }
  return std::nullopt;
}

/// A set of them.
class Rights {
 public:
  constexpr Rights() = default;
  constexpr Rights(std::initializer_list<Right> rights) {
    for (const Right each : rights) add(each);
  }

  [[nodiscard]] constexpr bool has(Right right) const { return (bits_ & bit(right)) != 0; }
  constexpr void add(Right right) { bits_ |= bit(right); }
  constexpr void add(Rights more) { bits_ |= more.bits_; }

  /// What both have.
  [[nodiscard]] constexpr Rights operator&(Rights other) const {
    return from_bits(bits_ & other.bits_);
  }

  /// For tokens in the log: so each right keeps its bit.
  [[nodiscard]] constexpr std::uint8_t bits() const { return bits_; }
  [[nodiscard]] static constexpr Rights from_bits(unsigned bits) {
    Rights rights;
    rights.bits_ = static_cast<std::uint8_t>(bits);
    return rights;
  }

  constexpr bool operator==(const Rights&) const = default;

 private:
  static constexpr std::uint8_t bit(Right right) {
    return static_cast<std::uint8_t>(1u << static_cast<unsigned>(right));
  }

  std::uint8_t bits_ = 0;
};

}  // namespace millrace::access
