#pragma once

#include <string_view>

#include "core/model/features/job_features.hpp"

namespace millrace::faktory {

/// The lock of unique jobs of this type, with these arguments, in this queue: SHA-256 of the three,
/// cut to 128 bits. `args` is JSON that was checked.
[[nodiscard]] LockKey lock_key(std::string_view jobtype, std::string_view args,
                               std::string_view queue);

}  // namespace millrace::faktory
