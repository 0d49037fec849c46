#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/slab.hpp"
#include "core/model/job.hpp"
#include "core/state/slot_index.hpp"

namespace millrace {

/// Which job holds which lock: an index over the jobs that are marked so. A lock lives in its job,
/// so none outlives one. About 9 bytes for each.
class Locks {
 public:
  /// `jobs` outlives this.
  explicit Locks(const Slab<Job>& jobs) : jobs_(jobs), slots_(jobs) {}

  /// The job that holds the lock, or lends it, be its time over or not.
  [[nodiscard]] std::optional<JobSlot> holder(const LockKey& key) const { return slots_.find(key); }

  /// The job holds its lock from now on. Answers the one that held it before.
  std::optional<JobSlot> take(JobSlot slot) { return slots_.insert(slot); }

  /// The job, which has that lock still, holds it no more. A lock of another job stays.
  void free(const LockKey& key, JobSlot slot) {
    if (slots_.find(key) == slot) slots_.erase(slot);
  }

  [[nodiscard]] std::size_t size() const { return slots_.size(); }

  /// Up to `limit` jobs of the index with locks after that one (nullopt: from the beginning), in an
  /// order that only depends on the keys. Looks at `limit` of them, and at a few thousand more for
  /// each million locks.
  [[nodiscard]] std::vector<JobSlot> page(const std::optional<LockKey>& after,
                                          std::size_t limit) const;

 private:
  struct KeyOf {
    const LockKey& operator()(const Job& job) const { return job.features->lock_key; }
    // A digest is its own hash.
    static std::size_t hash(const LockKey& key) { return key.low; }
  };
  using Slots = SlotIndex<Job, KeyOf>;

  const Slab<Job>& jobs_;
  Slots slots_;
};

}  // namespace millrace
