#include "core/state/features/locks.hpp"

#include <algorithm>
#include <utility>

namespace millrace {

std::vector<JobSlot> Locks::page(const std::optional<LockKey>& after, std::size_t limit) const {
  std::vector<JobSlot> found;
  std::vector<std::pair<LockKey, JobSlot>> here;
  const std::size_t first = after ? Slots::shard_of(KeyOf::hash(*after)) : 0;
  for (std::size_t shard = first; shard < Slots::kShards && found.size() < limit; ++shard) {
    here.clear();
    for (const JobSlot slot : slots_.shard(shard)) {
      const LockKey& key = jobs_[slot].features->lock_key;
      if (shard != first || !after || key > *after) here.emplace_back(key, slot);
    }
    const std::size_t wanted = std::min(limit - found.size(), here.size());
    std::partial_sort(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(wanted), here.end());
    for (std::size_t i = 0; i < wanted; ++i) found.push_back(here[i].second);
  }
  return found;
}

}  // namespace millrace
