#include "core/state/features/ended_pushes.hpp"

#include "core/model/codec.hpp"

namespace millrace {

const PushEnded* EndedPushes::find(const PushKey& key) const {
  const Shard& shard = shards_[shard_of(key)];
  const auto found = shard.find(key);
  return found == shard.end() ? nullptr : &pushes_[*found].push;
}

std::size_t EndedPushes::memory_bytes() const {
  // The push, and its entries in the table and in the order.
  constexpr std::size_t kPushBytes = 90;
  return pushes_.size() * kPushBytes;
}

void EndedPushes::apply(PushEnded&& record) {
  Shard& shard = shards_[shard_of(record.key)];
  // Its job may have ended before, and another one was pushed since, by a worker that had the
  // first.
  if (const auto former = shard.find(record.key); former != shard.end()) remove(shard, former);
  const Slot slot = pushes_.allocate();
  pushes_[slot].push = record;
  shard.insert(slot);
  // Nearly always it is the last that has ended.
  by_end_.emplace_hint(by_end_.end(), record.ended_at, slot);
  record_bytes_ += encoded_bytes(record);
  // The offset within the batch does not matter: a batch is never cut, so its beginning will do.
  log_.push_newest(slot, 0);
}

void EndedPushes::apply(PushForgotten&& record) {
  Shard& shard = shards_[shard_of(record.key)];
  const auto found = shard.find(record.key);
  if (found != shard.end()) remove(shard, found);
}

void EndedPushes::remove(Shard& shard, Shard::iterator place) {
  const Slot slot = *place;
  const PushEnded& push = pushes_[slot].push;
  record_bytes_ -= encoded_bytes(push);
  log_.remove(slot);
  by_end_.erase({push.ended_at, slot});
  shard.erase(place);
  pushes_.free(slot);
  // An empty shard gives its memory back: a million pushes may have gone.
  if (shard.empty() && shard.capacity() > kShards) shard.rehash(0);
}

void EndedPushes::rewrite_oldest(std::string& batch) {
  const Slot slot = log_.oldest().value();
  log_.remove(slot);
  encode(pushes_[slot].push, batch);
  log_.push_newest(slot, 0);
}

}  // namespace millrace
