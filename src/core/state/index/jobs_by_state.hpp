#pragma once

#include <absl/container/btree_set.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/check.hpp"
#include "core/model/job.hpp"

namespace millrace {

/// Jobs that have something in common, by state. Those of one state come in the order in which they
/// were made.
class JobsByState {
 public:
  struct Entry {
    JobId id;
    JobSlot slot;

    friend bool operator<(const Entry& a, const Entry& b) { return a.id < b.id; }
  };
  using Order = absl::btree_set<Entry>;
  /// About what an entry takes: nodes are three quarters full.
  static constexpr std::size_t kEntryBytes = sizeof(Entry) + 6;

  /// To be called when the job has its state, and before it leaves it.
  void enter(const Job& job, JobSlot slot) {
    const bool is_new = of(job.state).insert({.id = job.id, .slot = slot}).second;
    CHECK(is_new);
  }
  void leave(const Job& job, JobSlot slot) {
    const std::size_t taken = of(job.state).erase({.id = job.id, .slot = slot});
    CHECK(taken == 1);
  }

  [[nodiscard]] const Order& of(JobState state) const {
    return orders_[static_cast<std::size_t>(state)];
  }
  [[nodiscard]] bool empty() const { return std::ranges::all_of(orders_, &Order::empty); }

 private:
  [[nodiscard]] Order& of(JobState state) { return orders_[static_cast<std::size_t>(state)]; }

  std::array<Order, kJobStateCount> orders_;
};

}  // namespace millrace
