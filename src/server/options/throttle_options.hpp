#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/model/features/throttle_limits.hpp"
#include "faktory/job/glob.hpp"
#include "server/options/config_file.hpp"

namespace millrace::server {

/// Whether the whole text matches.
[[nodiscard]] bool matches(faktory::Glob& glob, std::string_view text);

/// A `[` of the pattern has no `]`.
[[nodiscard]] bool has_open_bracket(std::string_view name);

/// Whether some queue may have this name, or match this pattern: it has the characters that one of
/// the protocols allows.
[[nodiscard]] bool may_match_queue(std::string_view name);

/// The rule of a queue or a type is the one with its very name; else, of the patterns that match
/// it, the longest; of several, the first by name.
[[nodiscard]] ThrottleRules throttle_rules(std::vector<ThrottleRule> list);

/// The table of the config files that has the limits of queues and jobtypes.
inline constexpr std::string_view kThrottlesTable = "throttles";

/// How many names and patterns the files may have together. A new queue is compared with each
/// pattern.
inline constexpr std::size_t kThrottleRulesMax = 10'000;
inline constexpr std::size_t kThrottlePatternsMax = 100;

/// Reads the limits of queues and jobtypes from these documents. Other tables are passed over.
/// Sorted by name.
///
///     [throttles]
///     instagram = { concurrency = 4, timeout = 60 }
///     "mail-*" = { worker = 2, timeout = 60, rate = { count = 100, per = 60 } }
///     tenants = { per_key = 2, timeout = 60 }
///     "type:Mail*" = { concurrency = 3, timeout = 60 }
///
/// `concurrency`, `worker`, `per_key`, `count`: from 1 to 1,000,000; `timeout`, `per`: seconds from
/// 1. A timeout is needed with `concurrency`, `worker` or `per_key`. Types have neither `worker`
/// nor `per_key`. A problem begins with `FILE:LINE: `.
[[nodiscard]] Outcome<std::vector<ThrottleRule>> read_throttles(
    std::span<const ConfigDocument> documents);

}  // namespace millrace::server
