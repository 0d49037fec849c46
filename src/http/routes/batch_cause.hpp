#pragma once

#include <cstddef>

#include "core/model/features/job_batch.hpp"
#include "http/kit/json.hpp"
#include "http/routes/site.hpp"

/// Why a batch has not succeeded yet, in one sentence.
namespace millrace::http {

/// What somebody has to see to, or else what it waits for: of the batch itself, or of a child that
/// it waits for. Null: it waits for nothing. Of its members and children so many are looked at, and
/// no body is read from the disk.
[[nodiscard]] Json show_cause(const JobBatch& batch, const Site& site, Time now,
                              std::size_t steps_max);

/// For a row of a list, and for one batch.
inline constexpr std::size_t kCauseStepsOfRow = 20;
inline constexpr std::size_t kCauseSteps = 500;
/// How far down children are followed.
inline constexpr std::size_t kCauseDepthMax = 16;

}  // namespace millrace::http
