#pragma once

#include <cstdint>

namespace millrace {

/// The letters that ages and durations are written with, as in `90s`, `30m`, `24h` and `7d`.
struct AgeUnit {
  char letter;
  std::uint64_t seconds;
};

/// The largest first.
inline constexpr AgeUnit kAgeUnits[] = {{'d', 86'400}, {'h', 3600}, {'m', 60}, {'s', 1}};

}  // namespace millrace
