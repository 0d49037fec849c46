#pragma once

#include <chrono>
#include <string>

#include "base/result.hpp"

namespace millrace::tools {

/// How long a disk takes to make a small write durable.
struct SyncTimes {
  std::chrono::nanoseconds median{};
  std::chrono::nanoseconds slowest_of_hundred{};  ///< 99 % take no longer
  std::chrono::nanoseconds longest{};
  std::size_t count = 0;
};

/// Writes and syncs 4 KiB that many times, as the journal does, into a file without a name in that
/// directory. It takes no longer than a few seconds.
[[nodiscard]] Outcome<SyncTimes> measure_syncs(const std::string& directory, std::size_t count);

/// `0.34 ms`
[[nodiscard]] std::string milliseconds_text(std::chrono::nanoseconds time);

}  // namespace millrace::tools
