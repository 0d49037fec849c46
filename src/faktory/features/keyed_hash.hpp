#pragma once

#include <cstdint>
#include <string_view>

#include "core/model/features/lock_secret.hpp"

namespace millrace::faktory {

/// 128 bits.
struct KeyedHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};

/// SipHash-2-4 with 128 bits (Aumasson and Bernstein, 2012).
[[nodiscard]] KeyedHash keyed_hash(const LockSecret& secret, std::string_view text);

}  // namespace millrace::faktory
