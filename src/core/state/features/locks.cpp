#include "core/state/features/locks.hpp"

#include <algorithm>
#include <utility>

namespace millrace {

std::optional<JobSlot> Locks::holder(const LockKey& key) const {
  const Shard& shard = shards_[shard_of(key)];
  const auto found = shard.find(key);
  return found == shard.end() ? std::nullopt : std::optional(*found);
}

std::optional<JobSlot> Locks::take(JobSlot slot) {
  // A table that grows moves its entries. So 14,000 locks move none, for 80 kB in all.
  constexpr std::size_t kFirstPlaces = 63;
  Shard& shard = shards_[shard_of(jobs_[slot].features->lock_key)];
  if (shard.capacity() == 0) shard.reserve(kFirstPlaces - kFirstPlaces / 8);
  const auto [place, is_new] = shard.insert(slot);
  if (is_new) {
    ++size_;
    return std::nullopt;
  }
  const JobSlot former = *place;
  shard.erase(place);
  shard.insert(slot);
  return former;
}

std::vector<JobSlot> Locks::page(const std::optional<LockKey>& after, std::size_t limit) const {
  std::vector<JobSlot> found;
  std::vector<std::pair<LockKey, JobSlot>> here;
  const std::size_t first = after ? shard_of(*after) : 0;
  for (std::size_t shard = first; shard < kShards && found.size() < limit; ++shard) {
    here.clear();
    for (const JobSlot slot : shards_[shard]) {
      const LockKey& key = jobs_[slot].features->lock_key;
      if (shard != first || !after || key > *after) here.emplace_back(key, slot);
    }
    const std::size_t wanted = std::min(limit - found.size(), here.size());
    std::partial_sort(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(wanted), here.end());
    for (std::size_t i = 0; i < wanted; ++i) found.push_back(here[i].second);
  }
  return found;
}

void Locks::free(const LockKey& key, JobSlot slot) {
  Shard& shard = shards_[shard_of(key)];
  const auto found = shard.find(key);
  if (found == shard.end() || *found != slot) return;
  shard.erase(found);
  --size_;
  // An empty shard gives its memory back: a million locks may have ended.
  if (shard.empty() && shard.capacity() > kShards) shard.rehash(0);
}

}  // namespace millrace
