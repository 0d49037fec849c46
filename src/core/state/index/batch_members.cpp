#include "core/state/index/batch_members.hpp"

#include "base/check.hpp"

namespace millrace {

void BatchMembers::enter(const Job& job, JobSlot slot) {
  batches_[job.features->batch].enter(job, slot);
  ++size_;
}

void BatchMembers::leave(const Job& job, JobSlot slot, bool is_removed) {
  const auto batch = batches_.find(job.features->batch);
  CHECK(batch != batches_.end());
  batch->second.leave(job, slot);
  --size_;
  if (is_removed && batch->second.empty()) batches_.erase(batch);
}

const JobsByState::Order& BatchMembers::of(JobBatchId batch, JobState state) const {
  static const JobsByState::Order kNone;
  const auto found = batches_.find(batch);
  return found == batches_.end() ? kNone : found->second.of(state);
}

std::size_t BatchMembers::memory_bytes() const {
  return batches_.size() * (sizeof(JobBatchId) + sizeof(JobsByState)) +
         size_ * JobsByState::kEntryBytes;
}

}  // namespace millrace
