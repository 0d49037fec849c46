#pragma once

#include <cstddef>
#include <optional>

#include "core/broker/requests.hpp"
#include "faktory/features/lock_key.hpp"
#include "faktory/job/job_reader.hpp"
#include "faktory/job/pushed_job.hpp"

namespace millrace::faktory {

/// Reads the members of `custom` that the server knows: `unique_for`, `unique_until`,
/// `unique_conflict`, `expires_at`, `expires_in`, `track`, `bid`, `throttle_key`. All others are
/// the client's own. `null` means absent. The features come into `job`, whose `due` says when it is
/// to run first: so count `unique_for` and `expires_in`.
[[nodiscard]] std::optional<RefusedJob> read_features(const JobMembers& members, Time wall,
                                                      const SecretOfLocks& secret, NewJob& job);

/// Whether the job is to be tracked. A `track` that `read_features` refuses asks for nothing.
[[nodiscard]] bool asks_for_tracking(const Custom& custom);

/// A unique job's arguments can be this long. They are put in order before they are compared, and
/// that takes time.
inline constexpr std::size_t kUniqueArgsBytesMax = 128 * 1024;

}  // namespace millrace::faktory
