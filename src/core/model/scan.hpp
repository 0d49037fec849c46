#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/model/features/job_features.hpp"
#include "core/model/job.hpp"

namespace millrace {

/// Which jobs a walk visits: those in one state, of one queue or of some or all; of one batch, of
/// one group of failures, or any. Those of a batch or a group come in the order in which they were
/// made. Of other walks, ready jobs come queue by queue, in the order in which they will be served,
/// and all others by `Job::steady_when`.
struct ScanOrder {
  JobState state = JobState::kReady;
  std::string queue = {};     ///< empty: all, or those of the next member
  std::string queues = {};    ///< those whose names begin so; empty: all
  JobBatchId batch = 0;       ///< 0: all; else its members only
  std::uint64_t group = 0;    ///< 0: all; else that group only (`failure_group_number`)
  bool is_backwards = false;  ///< from the last to the first

  /// In the order in which the jobs were made.
  [[nodiscard]] bool is_by_id() const { return batch != 0 || group != 0; }
};

/// A position in an order: that of the job that the walk looked at last. The job may have left
/// the order since.
/// In a walk by id it has its id alone, whatever its state is.
struct ScanPlace {
  std::uint64_t created = 0;  ///< ready jobs: the queue's number in the order of creation
  std::int64_t major = 0;     ///< ready jobs: pri; others: that time in nanoseconds
  std::uint64_t minor = 0;    ///< ready jobs: sequence; others: id

  auto operator<=>(const ScanPlace&) const = default;
};

/// Where a walk ended.
struct ScanEnd {
  std::optional<ScanPlace> next;  ///< where to continue; nullopt: the walk is complete
  std::size_t jobs = 0;           ///< how many it passed, with those of other states and queues
};

}  // namespace millrace
