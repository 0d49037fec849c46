#pragma once

#include <absl/container/flat_hash_set.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/slab.hpp"

namespace millrace {

/// Finds things of a slab by a key that each of them has and keeps: 5 bytes for each, and as much
/// again where a table has just grown. `KeyOf` has
///
/// * `operator()(const T&)`: the thing's key;
/// * `static std::size_t hash(key)`, of which all bits are as good as drawn.
template <typename T, typename KeyOf>
class SlotIndex {
 public:
  using Slot = std::uint32_t;
  using Key = std::remove_cvref_t<std::invoke_result_t<KeyOf, const T&>>;

  /// `things` outlives this.
  explicit SlotIndex(const Slab<T>& things)
      : shards_(kShards, Shard(0, HashOf{&things}, EqualOf{&things})) {}

  [[nodiscard]] std::optional<Slot> find(const Key& key) const {
    return find(key, KeyOf::hash(key));
  }
  /// The same where the key's hash is known.
  [[nodiscard]] std::optional<Slot> find(const Key& key, std::size_t hash) const {
    const Shard& shard = shards_[shard_of(hash)];
    const auto found = shard.find(key, hash);
    return found == shard.end() ? std::nullopt : std::optional(*found);
  }
  [[nodiscard]] std::size_t size() const { return size_; }

  /// The thing has its key by now. It takes the place of the one that had the key before, which is
  /// answered.
  std::optional<Slot> insert(Slot slot) {
    // A table that grows moves its entries. So 14,000 move none, for 80 kB in all.
    constexpr std::size_t kFirstPlaces = 63;
    Shard& shard = shards_[shard_of(shards_[0].hash_function()(slot))];
    if (shard.capacity() == 0) shard.reserve(kFirstPlaces - kFirstPlaces / 8);
    const auto [place, is_new] = shard.insert(slot);
    size_ += is_new ? 1 : 0;
    if (is_new) return std::nullopt;
    const Slot former = *place;
    shard.erase(place);
    shard.insert(slot);
    return former;
  }

  /// The thing, which has its key still, is found no more.
  void erase(Slot slot) {
    Shard& shard = shards_[shard_of(shards_[0].hash_function()(slot))];
    size_ -= shard.erase(slot);
    // An empty shard gives its memory back: a million things may have gone.
    if (shard.empty() && shard.capacity() > kShards) shard.rehash(0);
  }

  // In shards, since a table that grows moves all its entries. Which of them has a key follows from
  // the key alone.
  static constexpr std::size_t kShards = 256;
  [[nodiscard]] static std::size_t shard_of(std::size_t hash) { return hash >> 56; }
  [[nodiscard]] const auto& shard(std::size_t number) const { return shards_[number]; }

 private:
  struct HashOf {
    using is_transparent = void;
    const Slab<T>* things;
    std::size_t operator()(const Key& key) const { return KeyOf::hash(key); }
    std::size_t operator()(Slot slot) const { return KeyOf::hash(KeyOf{}((*things)[slot])); }
  };
  struct EqualOf {
    using is_transparent = void;
    const Slab<T>* things;
    [[nodiscard]] static const Key& key_of(const Key& key) { return key; }
    [[nodiscard]] decltype(auto) key_of(Slot slot) const { return KeyOf{}((*things)[slot]); }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return key_of(a) == key_of(b);
    }
  };
  using Shard = absl::flat_hash_set<Slot, HashOf, EqualOf>;

  std::vector<Shard> shards_;
  std::size_t size_ = 0;
};

}  // namespace millrace
