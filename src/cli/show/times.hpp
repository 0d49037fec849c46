#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Times and durations as people type and read them.
namespace millrace::cli {

/// `90`, `30m`, `2h`, `7d` in seconds, from 1 on. nullopt: it is no such duration, or too long.
[[nodiscard]] std::optional<std::uint64_t> parse_seconds(std::string_view text);

/// `2026-11-21T00:59:20.184Z` in milliseconds since 1970; nullopt: it is no such time.
[[nodiscard]] std::optional<std::int64_t> parse_time_ms(std::string_view text);

/// The same in the other direction.
[[nodiscard]] std::string show_time_ms(std::int64_t time_ms);

/// A duration in its largest whole unit: `0s`, `59s`, `3m`, `5h`, `12d`. Negative ones begin with a
/// minus sign.
[[nodiscard]] std::string show_age(std::int64_t age_ms);

}  // namespace millrace::cli
