#pragma once

#include <functional>
#include <string_view>

#include "core/model/features/job_features.hpp"

namespace millrace::faktory {

/// SipHash-2-4 with 128 bits (Aumasson and Bernstein, 2012).
[[nodiscard]] KeyedHash keyed_hash(const LockSecret& secret, std::string_view text);

/// Gives the secret that names locks. It is asked where a lock is wanted, and not before.
using SecretOfLocks = std::function<LockSecret()>;
/// For a check, whose lock nobody takes.
[[nodiscard]] inline LockSecret no_secret() {
  return {};
}

/// The lock of unique jobs of this type, with these arguments, in this queue: the `keyed_hash` of
/// the three in canonical form. `args` is JSON that was checked.
[[nodiscard]] LockKey lock_key(const LockSecret& secret, std::string_view jobtype,
                               std::string_view args, std::string_view queue);

}  // namespace millrace::faktory
