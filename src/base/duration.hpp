#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/number.hpp"

namespace millrace {

/// A time as Go writes it, and with days: 90s, 1h30m, 1.5h, 500ms, 7d.
///
///     duration = [ "+" | "-" ] ( "0" | 1*( number unit ) )
///     number   = digits [ "." *digits ] | "." digits
///     unit     = "ns" | "us" | "µs" | "ms" | "s" | "m" | "h" | "d"
///
/// nullopt: it is none, or does not fit into 64 bits of nanoseconds.
[[nodiscard]] std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// The same where only whole units make sense, such as seconds. A plain number counts them: 90.
/// nullopt: any other text, and what is below zero.
template <typename Unit>
[[nodiscard]] std::optional<Unit> parse_whole(std::string_view text) {
  if (const auto number = parse_number<std::uint32_t>(text)) return Unit(*number);
  const auto duration = parse_duration(text);
  if (!duration || duration->count() < 0) return std::nullopt;
  const auto whole = std::chrono::duration_cast<Unit>(*duration);
  return whole == *duration ? std::optional(whole) : std::nullopt;
}

}  // namespace millrace
