#pragma once

#include <cstdint>
#include <optional>

#include "core/model/job.hpp"
#include "core/model/types.hpp"

namespace millrace {

/// The fate of a job that has just failed and is not dropped.
struct Verdict {
  JobState state = JobState::kRetrying;  ///< kRetrying or kDead
  Failure failure;                       ///< counted up; `next_at` set when it will be retried
};

/// Decides by the `retry` of the work unit, as the reference server does: with 0 the job is dropped
/// (nullopt), with less it dies at once, with n it is run n times more and then dies. `previous` is
/// null at the first failure. `chance` is any number: the random part of the back-off follows from
/// it. The texts of the failure are left as they were.
[[nodiscard]] std::optional<Verdict> judge(std::int64_t retry, const Failure* previous, Time now,
                                           std::uint64_t chance);

/// count^4 + 15 s + (0..29)(count + 1) s, where `count` is the retry count after this failure. A
/// count above 200, which means fifty years, counts as 200.
[[nodiscard]] Duration back_off(std::int64_t count, std::uint64_t chance);

}  // namespace millrace
