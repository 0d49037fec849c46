#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/model/types.hpp"

namespace millrace {

/// What people have said of the failures of one group (`failure_group_number`).
struct ErrorMark {
  /// It is muted until then, or while fewer jobs have the failure; the epoch and 0: it is not.
  Time muted_until{};
  std::uint64_t muted_below = 0;
  std::string note;  ///< UTF-8; empty: there is none
  Time noted_at{};

  [[nodiscard]] bool is_muted(Time now, std::uint64_t jobs) const {
    return now < muted_until || jobs < muted_below;
  }
  /// It says nothing, now or later.
  [[nodiscard]] bool is_over(Time now) const {
    return note.empty() && muted_below == 0 && muted_until <= now;
  }

  bool operator==(const ErrorMark&) const = default;
};

inline constexpr std::size_t kErrorMarksMax = 1000;
inline constexpr std::size_t kErrorNoteBytesMax = 1000;

}  // namespace millrace
