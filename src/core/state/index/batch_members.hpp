#pragma once

#include <absl/container/btree_map.h>
#include <absl/container/btree_set.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/model/job.hpp"

namespace millrace {

/// The jobs that are members of batches, by batch and state. Those of one state come in the order
/// in which they were made. A batch without members takes no memory here, and need not be known:
/// in a log its record may come after theirs.
class BatchMembers {
 public:
  struct Entry {
    JobId id;
    JobSlot slot;

    friend bool operator<(const Entry& a, const Entry& b) { return a.id < b.id; }
  };
  using Order = absl::btree_set<Entry>;

  /// The job is a member of a batch. To be called when it has its state, and before it leaves it;
  /// `is_removed`: it does not enter in another state.
  void enter(const Job& job, JobSlot slot);
  void leave(const Job& job, JobSlot slot, bool is_removed);

  [[nodiscard]] const Order& of(JobBatchId batch, JobState state) const;

  /// About what all of it takes.
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  using ByState = std::array<Order, kJobStateCount>;

  // Not hashed: a table that grows moves all its entries.
  absl::btree_map<JobBatchId, ByState> batches_;
  std::size_t size_ = 0;
};

}  // namespace millrace
