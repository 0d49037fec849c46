#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/job.hpp"
#include "core/model/types.hpp"

namespace millrace {

/// The fate of a job that has just failed and is not dropped.
struct Verdict {
  JobState state = JobState::kRetrying;  ///< kRetrying or kDead
  Failure failure;                       ///< counted up; `next_at` set when it will be retried
};

/// When retries come, where the job or the configuration asks for other times than the usual ones.
struct RetryDelays {
  std::vector<std::uint32_t> seconds = {};  ///< of each retry, the last one of all further ones
  double factor = 1;                        ///< without `seconds`: of the usual back-off
  std::string from = {};                    ///< what asks for it, for people

  bool operator==(const RetryDelays&) const = default;
};

/// What a job of that queue asks for, its body being in memory; nullopt: the usual back-off.
using FindRetryDelays =
    std::function<std::optional<RetryDelays>(const Job& job, std::string_view queue)>;

/// Of what a delay is made, besides the count. `chance` is any number.
struct RetryChance {
  RetryChance(std::uint64_t number, const RetryDelays* asked = nullptr)
      : chance(number), delays(asked) {}
  std::uint64_t chance;
  const RetryDelays* delays;  ///< null: the usual back-off
};

/// Decides by the `retry` of the work unit, as the reference server does: with 0 the job is dropped
/// (nullopt), with less it dies at once, with n it is run n times more and then dies. `previous` is
/// null at the first failure. The random part of the usual back-off follows from `chance`. The
/// texts of the failure are left as they were.
[[nodiscard]] std::optional<Verdict> judge(std::int64_t retry, const Failure* previous, Time now,
                                           const RetryChance& chance);

/// How long a job waits whose retry count is `count` after this failure. Delays that are listed
/// have no random part.
[[nodiscard]] Duration retry_delay(std::int64_t count, const RetryChance& chance);

/// count^4 + 15 s + (0..29)(count + 1) s, where `count` is the retry count after this failure. A
/// count above 200, which means fifty years, counts as 200.
[[nodiscard]] Duration back_off(std::int64_t count, std::uint64_t chance);

}  // namespace millrace
