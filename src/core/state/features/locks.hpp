#pragma once

#include <absl/container/flat_hash_set.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "base/slab.hpp"
#include "core/model/job.hpp"

namespace millrace {

/// Which job holds which lock: an index over the jobs that are marked so. A lock lives in its job,
/// so none outlives one. About 9 bytes for each.
class Locks {
 public:
  /// `jobs` outlives this.
  explicit Locks(const Slab<Job>& jobs)
      : jobs_(jobs), shards_(kShards, Shard(0, HashOf{&jobs}, EqualOf{&jobs})) {}

  /// The job that holds the lock, or lends it, be its time over or not.
  [[nodiscard]] std::optional<JobSlot> holder(const LockKey& key) const;

  /// The job holds its lock from now on. Answers the one that held it before.
  std::optional<JobSlot> take(JobSlot slot);

  /// It does so no more. A lock of another job stays.
  void free(const LockKey& key, JobSlot slot);

  [[nodiscard]] std::size_t size() const { return size_; }

  /// Up to `limit` jobs of the index with locks after that one (nullopt: from the beginning), in an
  /// order that only depends on the keys. Looks at `limit` of them, and at a few thousand more for
  /// each million locks.
  [[nodiscard]] std::vector<JobSlot> page(const std::optional<LockKey>& after,
                                          std::size_t limit) const;

 private:
  struct HashOf {
    using is_transparent = void;
    const Slab<Job>* jobs;
    // A digest is its own hash.
    std::size_t operator()(const LockKey& key) const { return key.low; }
    std::size_t operator()(JobSlot slot) const { return (*jobs)[slot].features->lock_key.low; }
  };
  struct EqualOf {
    using is_transparent = void;
    const Slab<Job>* jobs;
    [[nodiscard]] const LockKey& key_of(const LockKey& key) const { return key; }
    [[nodiscard]] const LockKey& key_of(JobSlot slot) const {
      return (*jobs)[slot].features->lock_key;
    }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return key_of(a) == key_of(b);
    }
  };
  using Shard = absl::flat_hash_set<JobSlot, HashOf, EqualOf>;
  // In shards, since a table that grows moves all its entries.
  static constexpr std::size_t kShards = 256;

  [[nodiscard]] static std::size_t shard_of(const LockKey& key) { return key.high % kShards; }

  const Slab<Job>& jobs_;
  std::vector<Shard> shards_;
  std::size_t size_ = 0;
};

}  // namespace millrace
