#pragma once

#include <string>

#include "core/model/features/job_batch.hpp"
#include "core/model/wall_clock.hpp"

namespace millrace::faktory {

/// What BATCH STATUS answers:
/// `{"bid":"b-..","parent_bid":"b-..","description":"..","created_at":"..","total":3,"pending":2,`
/// `"failed":0,"complete_st":"","success_st":""}`, without `parent_bid` where there is none. The
/// states are empty, `1` for a callback that was pushed, and `2` for one that has ended.
[[nodiscard]] std::string render_batch_status(const JobBatch& batch, WallClock clock);

}  // namespace millrace::faktory
