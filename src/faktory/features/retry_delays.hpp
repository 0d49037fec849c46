#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace millrace::faktory {

/// Seconds, from 1 to `kRetryDelayMax`: `90`, `90s`, `1m30s`, `1.5h`, `1d`. nullopt: anything else.
[[nodiscard]] std::optional<std::uint32_t> parse_delay(std::string_view text);

/// `custom.retry_delays`: a list in checked JSON of numbers and strings that `parse_delay` takes,
/// at least one and at most `kRetryDelaysMax`. nullopt: it is none.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> read_retry_delays(std::string_view json);

inline constexpr std::size_t kRetryDelaysMax = 100;
/// A year.
inline constexpr std::uint32_t kRetryDelayMax = 365 * 86'400;

}  // namespace millrace::faktory
