#pragma once

#include <absl/container/flat_hash_set.h>
#include <absl/hash/hash.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "core/job.hpp"
#include "core/order.hpp"
#include "core/slab.hpp"

namespace millrace {

/// Finds a job's slot by its id. A job costs about 8 bytes here, since only slots are stored; and
/// the table is cut into shards, so that one that grows stalls nobody: at ten million jobs a shard
/// holds ten thousand.
class JobIndex {
 public:
  explicit JobIndex(const Slab<Job>& jobs) {
    shards_.reserve(kShards);
    for (std::size_t i = 0; i < kShards; ++i) shards_.emplace_back(0, Hash{&jobs}, Equal{&jobs});
  }

  [[nodiscard]] std::optional<JobSlot> find(JobId id) const {
    const Shard& shard = shards_[shard_of(id)];
    const auto found = shard.find(id);
    if (found == shard.end()) return std::nullopt;
    return *found;
  }

  /// The job in the slot must have its id, and keep it until `erase`.
  void insert(JobId id, JobSlot slot) { shards_[shard_of(id)].insert(slot); }
  void erase(JobId id) {
    Shard& shard = shards_[shard_of(id)];
    if (const auto found = shard.find(id); found != shard.end()) shard.erase(found);
    // An empty shard gives its memory back, but for the little that few jobs need again and again.
    if (shard.empty() && shard.capacity() > kRun) shard.rehash(0);
  }

 private:
  static constexpr std::size_t kShards = 1024;
  static constexpr std::size_t kRun = 1024;
  [[nodiscard]] static std::size_t shard_of(JobId id) { return id / kRun % kShards; }

  struct Hash {
    using is_transparent = void;
    const Slab<Job>* jobs;
    std::size_t operator()(JobSlot slot) const { return (*this)((*jobs)[slot].id); }
    std::size_t operator()(JobId id) const { return absl::Hash<JobId>{}(id); }
  };
  struct Equal {
    using is_transparent = void;
    const Slab<Job>* jobs;
    bool operator()(JobSlot a, JobSlot b) const { return a == b; }
    bool operator()(JobSlot a, JobId b) const { return (*jobs)[a].id == b; }
    bool operator()(JobId a, JobSlot b) const { return a == (*jobs)[b].id; }
  };
  using Shard = absl::flat_hash_set<JobSlot, Hash, Equal>;

  std::vector<Shard> shards_;
};

}  // namespace millrace
