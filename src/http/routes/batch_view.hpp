#pragma once

#include <optional>
#include <string_view>

#include "core/broker/view.hpp"
#include "core/model/features/job_batch.hpp"
#include "http/kit/json.hpp"

/// How a batch of jobs is shown.
namespace millrace::http {

/// A batch in one word.
enum class BatchStage {
  kOpen,     ///< not committed: jobs may still be pushed into it
  kRunning,  ///< members have not run yet, or children or callbacks are under way
  /// All have run, and some have failed, or a callback that is waited for is dead. What is retried
  /// may succeed after all.
  kFailed,
  kSucceeded,  ///< all of it has
};

[[nodiscard]] BatchStage stage_of(const JobBatchFields& fields, const View& view);
[[nodiscard]] const char* name_of(BatchStage stage);
[[nodiscard]] std::optional<BatchStage> parse_stage(std::string_view name);

/// The batch as a row of a list, without its cause. The cost does not depend on how many members it
/// has.
[[nodiscard]] Json row_of(const JobBatch& batch, const View& view);

/// All that is known of the batch.
[[nodiscard]] Json detail_of(const JobBatch& batch, const View& view);

/// The batch of a job, and what the job is to it; null: it has none.
[[nodiscard]] Json batch_of(const Job& job, const View& view);

/// How many children that a batch waits for are named, and how many are looked at for them.
inline constexpr std::size_t kBlockingShownMax = 3;
inline constexpr std::size_t kBlockingSearchSteps = 1'000;

/// How many parents of parents are shown with a batch.
inline constexpr std::size_t kAncestorsShownMax = 16;

/// How many children of each batch are shown below it, so many levels deep, and so many in all.
inline constexpr std::size_t kChildrenShownMax = 20;
inline constexpr std::size_t kGenerationsShownMax = 8;
inline constexpr std::size_t kDescendantsShownMax = 100;

}  // namespace millrace::http
