#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/model/job.hpp"
#include "core/model/types.hpp"

namespace millrace {

/// A walk over all jobs of a state, those of one queue or of all. Ready jobs stand queue by queue
/// in the order in which they will be served; all others by `Job::when`.
struct ScanOrder {
  JobState state = JobState::kReady;
  std::string queue = {};     ///< empty: all
  bool is_backwards = false;  ///< from the last to the first
};

/// Where in an order a walk stands: the place of the job that it looked at last, which need not be
/// there any more.
struct ScanPlace {
  std::uint64_t created = 0;  ///< ready: of the queue, its place in the order of creation
  std::int64_t major = 0;     ///< ready: pri; else `when` in nanoseconds
  std::uint64_t minor = 0;    ///< ready: sequence; else id

  auto operator<=>(const ScanPlace&) const = default;
};

/// How far a walk came.
struct ScanEnd {
  std::optional<ScanPlace> next;  ///< where to go on; nullopt: the order is through
  std::size_t jobs = 0;           ///< how many it passed, of other states and queues too
};

}  // namespace millrace
