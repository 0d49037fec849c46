#include "core/state/features/ended_pushes.hpp"

namespace millrace {

const PushEnded* EndedPushes::find(const PushKey& key) const {
  const auto slot = slots_.find(key);
  return slot ? &pushes_[*slot].push : nullptr;
}

std::size_t EndedPushes::memory_bytes() const {
  // The push, and its entries in the table and in the order.
  constexpr std::size_t kPushBytes = 90;
  return pushes_.size() * kPushBytes;
}

void EndedPushes::apply(PushEnded&& record) {
  // Its job may have ended before, and another one was pushed since, by a worker that had the
  // first.
  if (const auto former = slots_.find(record.key)) remove(*former);
  const Slot slot = pushes_.allocate();
  pushes_[slot].push = record;
  slots_.insert(slot);
  // Nearly always it is the last that has ended.
  by_end_.emplace_hint(by_end_.end(), record.ended_at, slot);
  enter_log(slot);
}

void EndedPushes::apply(PushForgotten&& record) {
  if (const auto slot = slots_.find(record.key)) remove(*slot);
}

void EndedPushes::remove(Slot slot) {
  leave_log(slot);
  slots_.erase(slot);
  by_end_.erase({pushes_[slot].push.ended_at, slot});
  pushes_.free(slot);
}

}  // namespace millrace
