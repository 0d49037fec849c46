#pragma once

#include <string_view>
#include <vector>

#include "core/model/features/throttle_limits.hpp"
#include "faktory/job/glob.hpp"

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

}  // namespace millrace::server
