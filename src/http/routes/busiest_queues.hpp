#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/model/queue.hpp"
#include "core/model/types.hpp"

namespace millrace::http {

/// Of all queues that it looks at, the busiest: those with the most jobs, and with the most jobs
/// put, pushed and run within the last moments. Of equally busy ones the older.
class BusiestQueues {
 public:
  explicit BusiestQueues(std::size_t count_max) : count_max_(count_max) {}

  void look_at(const Queue& queue, Time now);

  /// Their places in the order of creation, smallest first.
  [[nodiscard]] std::vector<std::uint64_t> places() const;

 private:
  struct Entry {
    double activity = 0;
    std::uint64_t place = 0;

    [[nodiscard]] bool is_before(const Entry& other) const {
      return activity != other.activity ? activity > other.activity : place < other.place;
    }
  };

  std::size_t count_max_;
  std::vector<Entry> heap_;  ///< the least busy first
};

}  // namespace millrace::http
