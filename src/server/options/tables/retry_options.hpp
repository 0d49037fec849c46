#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/broker/jobs/retry_policy.hpp"
#include "core/ports/work_unit.hpp"
#include "server/options/config_file.hpp"

namespace millrace::server {

/// One `[[retry]]` of the config files: when the failed jobs run again that it matches.
struct RetryRule {
  std::string type;   ///< a type or a pattern, as those of throttles; empty: any
  std::string queue;  ///< the same of a queue
  RetryDelays delays;
};

inline constexpr std::string_view kRetryTable = "retry";
inline constexpr std::size_t kRetryRulesMax = 1'000;
inline constexpr double kRetryFactorMin = 0.01;
inline constexpr double kRetryFactorMax = 100;

/// Reads the entries of these documents, in their order. Other tables are passed over.
///
///     [[retry]]
///     type = "Mail*"
///     delays = ["10s", "1m", "10m"]
///
///     [[retry]]
///     queue = "slow"
///     factor = 4
///
/// A problem begins with `FILE:LINE: `.
[[nodiscard]] Outcome<std::vector<RetryRule>> read_retries(
    std::span<const ConfigDocument> documents);

/// The `retry_delays` of the job itself come first, and then the first rule that matches.
[[nodiscard]] FindRetryDelays retry_delays(std::vector<RetryRule> rules,
                                           const WorkUnitFormat& format);

}  // namespace millrace::server
