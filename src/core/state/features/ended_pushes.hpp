#pragma once

#include <absl/container/btree_set.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/slab.hpp"
#include "core/model/record.hpp"
#include "core/state/live_kind.hpp"
#include "core/state/live_records.hpp"
#include "core/state/slot_index.hpp"

namespace millrace {

/// The pushes that are remembered though their jobs have ended. How long is the broker's business.
class EndedPushes : public LiveRecords<EndedPushes> {
 public:
  /// Null: that push is not remembered.
  [[nodiscard]] const PushEnded* find(const PushKey& key) const;
  [[nodiscard]] std::size_t size() const { return pushes_.size(); }
  /// The one whose job ended the longest ago; null: there is none.
  [[nodiscard]] const PushEnded* oldest() const {
    return by_end_.empty() ? nullptr : &pushes_[by_end_.begin()->second].push;
  }

  /// Null when the slot is free. Slots in use are below `slot_end`.
  [[nodiscard]] const PushEnded* in_slot(Slot slot) const {
    const Stored* const stored = pushes_.find(slot);
    return stored == nullptr ? nullptr : &stored->push;
  }
  [[nodiscard]] Slot slot_end() const { return pushes_.end(); }

  /// About what they take in memory.
  [[nodiscard]] std::size_t memory_bytes() const;

  // ---- as a live kind ---------------------------------------------------------------------------

  void apply(PushEnded&& record);
  /// Of a push that is not remembered, this does nothing.
  void apply(PushForgotten&& record);
  static constexpr AtFlush kAtFlush = AtFlush::kRemoved;

 private:
  friend LiveRecords;
  struct Stored {
    PushEnded push;
    LogNode log;
  };
  struct KeyOf {
    const PushKey& operator()(const Stored& stored) const { return stored.push.key; }
    static std::size_t hash(const PushKey& key) { return key.low; }
  };

  [[nodiscard]] LogNode& node_of(Slot slot) { return pushes_[slot].log; }
  [[nodiscard]] const PushEnded& record_in(Slot slot) const { return pushes_[slot].push; }
  void remove(Slot slot);

  Slab<Stored> pushes_;
  SlotIndex<Stored, KeyOf> slots_{pushes_};
  absl::btree_set<std::pair<Time, Slot>> by_end_;
};

}  // namespace millrace
