#pragma once

#include <absl/container/btree_map.h>

#include <cstddef>

#include "core/model/job.hpp"
#include "core/state/index/jobs_by_state.hpp"

namespace millrace {

/// The jobs that are members of batches. A batch without members takes no memory here, and need not
/// be known: in a log its record may come after theirs.
class BatchMembers {
 public:
  /// The job is a member of a batch. To be called when it has its state, and before it leaves it;
  /// `is_removed`: it does not enter in another state.
  void enter(const Job& job, JobSlot slot);
  void leave(const Job& job, JobSlot slot, bool is_removed);

  [[nodiscard]] const JobsByState::Order& of(JobBatchId batch, JobState state) const;

  /// About what all of it takes.
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  // Not hashed: a table that grows moves all its entries.
  absl::btree_map<JobBatchId, JobsByState> batches_;
  std::size_t size_ = 0;
};

}  // namespace millrace
