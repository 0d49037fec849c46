#pragma once

#include <cstdint>
#include <vector>

#include "core/model/record.hpp"

namespace millrace::tools {

/// What a server counts: runs, and those of past days.
struct RunCounts {
  CountersChanged counters;  ///< `next_id` is none of it
  std::vector<DayCounts> days;

  bool operator==(const RunCounts&) const = default;
};

/// Both together, as a server would have them that counted both. `today` is days since 1970.
[[nodiscard]] RunCounts sum_of(RunCounts counts, std::uint64_t processed, std::uint64_t failed,
                               const std::vector<DayCounts>& days, std::int32_t today);

}  // namespace millrace::tools
