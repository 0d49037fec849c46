#pragma once

#include <cstdint>
#include <optional>

#include "core/model/job.hpp"
#include "core/model/types.hpp"

namespace millrace {

/// Retries of a job that does not say how many it wants.
inline constexpr std::int64_t kRetryDefault = 25;

/// What becomes of a job that has just failed (reference server, `retry`): with 0 it is dropped,
/// with less it dies at once, with n it is run n times more and then dies.
struct Verdict {
  JobState state = JobState::kRetrying;  ///< kRetrying or kDead
  Failure failure;                       ///< counted up; `next_at` set when it will be retried
};

/// nullopt: drop the job. `previous` is null at the first failure. `chance` is any number: the
/// back-off's random part is drawn from it. Texts of the failure are left as they were.
[[nodiscard]] std::optional<Verdict> judge(std::int64_t retry, const Failure* previous, Time now,
                                           std::uint64_t chance);

/// count^4 + 15 s + (0..29)(count + 1) s, `count` being the retry count after this failure. Counts
/// above 200, which wait for fifty years, are cut to that.
[[nodiscard]] Duration back_off(std::int64_t count, std::uint64_t chance);

}  // namespace millrace
