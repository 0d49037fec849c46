#pragma once

#include <absl/container/btree_set.h>
#include <absl/container/flat_hash_set.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/slab.hpp"
#include "core/model/record.hpp"
#include "core/state/live_kind.hpp"
#include "core/state/log_order.hpp"

namespace millrace {

/// The pushes that are remembered though their jobs have ended. How long is the broker's business.
class EndedPushes {
 public:
  using Slot = std::uint32_t;

  EndedPushes() : shards_(kShards, Shard(0, HashOf{&pushes_}, EqualOf{&pushes_})) {}
  EndedPushes(const EndedPushes&) = delete;
  EndedPushes& operator=(const EndedPushes&) = delete;

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
  [[nodiscard]] std::optional<Lsn> oldest_place() const { return log_.oldest_place(); }
  void rewrite_oldest(std::string& batch);
  void place(Lsn begin) {
    log_.place(begin, [](Slot) {});
  }
  [[nodiscard]] std::uint64_t live_bytes() const { return record_bytes_; }
  static constexpr AtFlush kAtFlush = AtFlush::kRemoved;

 private:
  struct Stored {
    PushEnded push;
    LogNode log;
  };
  struct HashOf {
    using is_transparent = void;
    const Slab<Stored>* pushes;
    // The key is as good as drawn.
    std::size_t operator()(const PushKey& key) const { return key.low; }
    std::size_t operator()(Slot slot) const { return (*pushes)[slot].push.key.low; }
  };
  struct EqualOf {
    using is_transparent = void;
    const Slab<Stored>* pushes;
    [[nodiscard]] const PushKey& key_of(const PushKey& key) const { return key; }
    [[nodiscard]] const PushKey& key_of(Slot slot) const { return (*pushes)[slot].push.key; }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return key_of(a) == key_of(b);
    }
  };
  using Shard = absl::flat_hash_set<Slot, HashOf, EqualOf>;
  // In shards, since a table that grows moves all its entries.
  static constexpr std::size_t kShards = 256;

  [[nodiscard]] static std::size_t shard_of(const PushKey& key) { return key.high % kShards; }
  void remove(Shard& shard, Shard::iterator place);

  Slab<Stored> pushes_;
  std::vector<Shard> shards_;
  absl::btree_set<std::pair<Time, Slot>> by_end_;

  struct NodeOf {
    Slab<Stored>* pushes;
    LogNode& operator()(Slot slot) const { return (*pushes)[slot].log; }
  };
  LogOrder<NodeOf> log_{NodeOf{&pushes_}};
  std::uint64_t record_bytes_ = 0;
};

}  // namespace millrace
