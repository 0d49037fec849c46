#include "core/state/features/locks.hpp"

namespace millrace {

std::optional<JobSlot> Locks::holder(const LockKey& key) const {
  const Shard& shard = shards_[shard_of(key)];
  const auto found = shard.find(key);
  return found == shard.end() ? std::nullopt : std::optional(*found);
}

std::optional<JobSlot> Locks::take(JobSlot slot) {
  // A table that begins with one place moves its few entries at every other one.
  constexpr std::size_t kFirstPlaces = 15;
  Shard& shard = shards_[shard_of(jobs_[slot].features->lock_key)];
  if (shard.capacity() == 0) shard.reserve(kFirstPlaces - 1);
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
