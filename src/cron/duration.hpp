#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace millrace::cron {

/// A time as Go writes it and Faktory's files have it: 90s, 1h30m, 1.5h, 500ms.
///
///     duration = [ "+" | "-" ] ( "0" | 1*( number unit ) )
///     number   = digits [ "." *digits ] | "." digits
///     unit     = "ns" | "us" | "µs" | "ms" | "s" | "m" | "h"
///
/// nullopt: it is none, or does not fit into 64 bits of nanoseconds.
[[nodiscard]] std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// The same where only whole seconds make sense; nullopt for others, and below zero.
[[nodiscard]] std::optional<std::chrono::seconds> parse_whole_seconds(std::string_view text);

}  // namespace millrace::cron
