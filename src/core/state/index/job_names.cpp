#include "core/state/index/job_names.hpp"

namespace millrace {

void JobNames::Hashes::set(JobSlot slot, std::uint32_t hash) {
  const std::size_t number = slot / kChunk;
  if (number >= chunks_.size()) chunks_.resize(number + 1);
  Chunk& chunk = chunks_[number];
  if (!chunk.hashes) chunk.hashes = std::make_unique<std::array<std::uint32_t, kChunk>>();
  (*chunk.hashes)[slot % kChunk] = hash;
  ++chunk.used;
}

void JobNames::Hashes::clear(JobSlot slot) {
  Chunk& chunk = chunks_[slot / kChunk];
  (*chunk.hashes)[slot % kChunk] = 0;
  // The first one stays, so that a few jobs that come and go do not make it each time.
  if (--chunk.used == 0 && slot >= kChunk) chunk.hashes.reset();
}

void JobNames::enter(JobSlot slot, std::uint32_t hash) {
  CHECK(hash != 0);
  hashes_.set(slot, hash);
  ++size_;
  Shard& shard = shards_[shard_of(hash)];
  const auto [place, is_first] = shard.insert(slot);
  if (is_first) return;
  // Compaction writes jobs once more that are older than others of their name.
  JobSlot older = slot;
  if (jobs_[*place].id < jobs_[slot].id) {
    older = *place;
    shard.erase(place);
    shard.insert(slot);
  }
  older_.insert({.hash = hash, .slot = older, .id = jobs_[older].id});
}

void JobNames::leave(JobSlot slot) {
  const std::uint32_t hash = hashes_.at(slot);
  if (hash == 0) return;
  --size_;
  if (!older_.empty() && older_.erase({.hash = hash, .slot = slot, .id = jobs_[slot].id}) == 1) {
    return hashes_.clear(slot);
  }
  Shard& shard = shards_[shard_of(hash)];
  const std::size_t left = shard.erase(slot);
  CHECK(left == 1);
  hashes_.clear(slot);
  const auto next = older_.empty()
                        ? older_.end()
                        : older_.lower_bound({.hash = hash, .slot = 0, .id = UINT64_MAX});
  if (next != older_.end() && next->hash == hash) {
    shard.insert(next->slot);
    older_.erase(next);
  } else if (shard.empty() && shard.capacity() > kKeptCapacity) {
    shard.rehash(0);
  }
}

std::optional<JobSlot> JobNames::newest(std::uint32_t hash) const {
  const Shard& shard = shards_[shard_of(hash)];
  const auto found = shard.find(std::uint64_t{hash});
  return found == shard.end() ? std::nullopt : std::optional(*found);
}

std::vector<JobSlot> JobNames::candidates(std::uint32_t hash, std::size_t limit) const {
  std::vector<JobSlot> found;
  const auto first = newest(hash);
  if (!first || limit == 0) return found;
  found.push_back(*first);
  // The greatest id is the first of its hash.
  auto older = older_.lower_bound({.hash = hash, .slot = 0, .id = UINT64_MAX});
  for (; older != older_.end() && older->hash == hash && found.size() < limit; ++older) {
    found.push_back(older->slot);
  }
  return found;
}

}  // namespace millrace
