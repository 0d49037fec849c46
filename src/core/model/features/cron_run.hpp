#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/model/features/job_features.hpp"
#include "core/model/types.hpp"

namespace millrace {

/// How the job of a run has ended. Times are those of the wall clock.
struct CronRunEnd {
  JobEnd how = JobEnd::kGone;
  Time began_at{};  ///< of its last run, if it ended in one; else the epoch
  Time ended_at{};

  bool operator==(const CronRunEnd&) const = default;
};

/// What a run of a cron entry came to. Times are those of the wall clock.
struct CronRun {
  Time planned{};           ///< by the schedule; of a run by hand, when it was asked for
  Time at{};                ///< when it was done
  JobId job = 0;            ///< 0: the push was refused
  std::string jid;          ///< empty: the same
  std::string problem;      ///< why it was refused, in one line
  bool is_by_hand = false;  ///< an operator asked for it
  /// Nullopt: the job is still there, or was not told of: its end came where the log must not grow.
  std::optional<CronRunEnd> end = std::nullopt;

  [[nodiscard]] bool is_open() const { return job != 0 && !end; }
  bool operator==(const CronRun&) const = default;
};

/// How many runs of an entry are remembered, and how much of what was wrong with one.
inline constexpr std::size_t kCronRunsMax = 10;
inline constexpr std::size_t kCronProblemBytesMax = 200;
inline constexpr std::size_t kCronIdBytesMax = 255;

}  // namespace millrace
