#pragma once

#include <cstddef>

#include "base/box.hpp"
#include "base/result.hpp"
#include "core/model/features/job_features.hpp"
#include "core/model/wall_clock.hpp"
#include "faktory/job/job_reader.hpp"
#include "faktory/job/pushed_job.hpp"

namespace millrace::faktory {

/// What a job asks for in its `custom`.
struct AskedFeatures {
  Box<JobFeatures> features;  ///< empty: nothing
  UniqueConflict conflict = UniqueConflict::kRefuse;
};

/// Reads the members of `custom` that the server knows: `unique_for`, `unique_until`,
/// `unique_conflict`, `expires_at`, `expires_in`, `track`, `bid`. All others are the client's own.
/// `null` means absent. `due`: when the job is to run first, by the wall clock; the epoch or a past
/// time: at once. So count `unique_for` and `expires_in`.
[[nodiscard]] Result<AskedFeatures, RefusedJob> read_features(const JobMembers& members, Time due,
                                                              Time wall);

/// Whether a `custom` has a `bid`; and whether it asks for `track`. It may be empty text.
[[nodiscard]] bool names_batch(std::string_view custom);
[[nodiscard]] bool asks_for_tracking(std::string_view custom);

/// A unique job's arguments can be this long. They are put in order before they are compared, and
/// that takes time.
inline constexpr std::size_t kUniqueArgsBytesMax = 128 * 1024;

}  // namespace millrace::faktory
