#include "core/state/features/tracked_jobs.hpp"

namespace millrace {

void TrackedJobs::enter(const Job& job, JobSlot slot) {
  const bool is_new =
      entries_.insert({.id = job.id, .jid_hash = job.features->jid_hash, .slot = slot}).second;
  CHECK(is_new);
}

void TrackedJobs::leave(const Job& job, JobSlot slot) {
  const std::size_t taken =
      entries_.erase({.id = job.id, .jid_hash = job.features->jid_hash, .slot = slot});
  CHECK(taken == 1);
}

std::vector<JobSlot> TrackedJobs::candidates(std::uint32_t jid_hash, std::size_t limit) const {
  std::vector<JobSlot> found;
  // The greatest id is the first of its hash.
  auto entry = entries_.lower_bound({.id = UINT64_MAX, .jid_hash = jid_hash, .slot = 0});
  for (; entry != entries_.end() && entry->jid_hash == jid_hash; ++entry) {
    if (found.size() == limit) break;
    found.push_back(entry->slot);
  }
  return found;
}

}  // namespace millrace
