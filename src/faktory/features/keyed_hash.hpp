#pragma once

#include <string_view>

#include "core/model/features/lock_secret.hpp"

namespace millrace::faktory {

/// SipHash-2-4 with 128 bits (Aumasson and Bernstein, 2012).
[[nodiscard]] KeyedHash keyed_hash(const LockSecret& secret, std::string_view text);

}  // namespace millrace::faktory
