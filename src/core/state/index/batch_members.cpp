#include "core/state/index/batch_members.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace millrace {

void BatchMembers::enter(const Job& job, JobSlot slot) {
  Order& members = batches_[job.features->batch][static_cast<std::size_t>(job.state)];
  const bool is_new = members.insert({.id = job.id, .slot = slot}).second;
  CHECK(is_new);
  ++size_;
}

void BatchMembers::leave(const Job& job, JobSlot slot, bool is_removed) {
  const auto batch = batches_.find(job.features->batch);
  CHECK(batch != batches_.end());
  ByState& states = batch->second;
  const std::size_t taken =
      states[static_cast<std::size_t>(job.state)].erase({.id = job.id, .slot = slot});
  CHECK(taken == 1);
  --size_;
  if (is_removed && std::ranges::all_of(states, &Order::empty)) batches_.erase(batch);
}

const BatchMembers::Order& BatchMembers::of(JobBatchId batch, JobState state) const {
  static const Order kNone;
  const auto found = batches_.find(batch);
  return found == batches_.end() ? kNone : found->second[static_cast<std::size_t>(state)];
}

std::size_t BatchMembers::memory_bytes() const {
  constexpr std::size_t kEntryBytes = sizeof(Entry) + 6;  // nodes are three quarters full
  return batches_.size() * (sizeof(JobBatchId) + sizeof(ByState)) + size_ * kEntryBytes;
}

}  // namespace millrace
