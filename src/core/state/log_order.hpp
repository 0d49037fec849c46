#pragma once

#include <cstdint>

#include "base/slab.hpp"
#include "core/model/job.hpp"
#include "core/model/order.hpp"

namespace millrace {

/// All jobs in the order in which their whole records stand in the log. A record is only ever
/// written at the log's end, so the order is a list, threaded through the jobs themselves: eight
/// bytes a job.
class LogOrder {
 public:
  explicit LogOrder(Slab<Job>& jobs) : jobs_(jobs) {}

  /// kNoJob: there is none.
  [[nodiscard]] JobSlot oldest() const { return oldest_; }
  [[nodiscard]] JobSlot newest() const { return newest_; }

  void push_newest(JobSlot slot) {
    Job& job = jobs_[slot];
    job.older = newest_;
    job.newer = kNoJob;
    (newest_ == kNoJob ? oldest_ : jobs_[newest_].newer) = slot;
    newest_ = slot;
  }

  void remove(JobSlot slot) {
    const Job& job = jobs_[slot];
    (job.older == kNoJob ? oldest_ : jobs_[job.older].newer) = job.newer;
    (job.newer == kNoJob ? newest_ : jobs_[job.newer].older) = job.older;
  }

 private:
  Slab<Job>& jobs_;
  JobSlot oldest_ = kNoJob;
  JobSlot newest_ = kNoJob;
};

}  // namespace millrace
