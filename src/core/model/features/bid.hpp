#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/model/features/job_features.hpp"

namespace millrace {

/// The name of a batch as clients write it: `b-` and 14 characters of base64url, which are the ten
/// bytes of its number and of a sum over it.
[[nodiscard]] std::string format_bid(JobBatchId id);

/// nullopt: no batch has that name.
[[nodiscard]] std::optional<JobBatchId> parse_bid(std::string_view text);

}  // namespace millrace
