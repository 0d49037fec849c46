#pragma once

#include "core/broker/admission_control.hpp"
#include "core/broker/jobs/new_jobs.hpp"
#include "core/broker/view.hpp"
#include "core/state/ledger.hpp"

namespace millrace {

/// Does what has become due in batches: pushes their callbacks, and tells their parents. The
/// operation that made it due ends with this, so that both are in one frame of the log.
///
/// It works through a list, and never calls itself: batches may be nested ten thousand deep. Which
/// batches are in the list follows from what is stored of them. So where a slice has ended, or the
/// process, nothing is half done.
class BatchCallbacks {
 public:
  /// The parts that it works on. They outlive it.
  struct Parts {
    Ledger& ledger;
    const AdmissionControl& admission;
    NewJobs& new_jobs;
    Tally& tally;
  };
  explicit BatchCallbacks(Parts parts) : parts_(parts) {}

  /// At most a slice. While records must not grow, callbacks wait.
  void work(Time now) {
    if (has_work()) work_slice(now);
  }
  [[nodiscard]] bool has_work() const { return parts_.ledger.store().batches().has_work(); }
  /// When `work` has something to do.
  [[nodiscard]] Time next_due() const;

 private:
  void work_slice(Time now);
  void work_on(const JobBatch& batch, Time now);
  void enqueue(const JobBatch& batch, BatchRole role, Time now);
  void update_parent(const JobBatch& batch, Time now);

  Parts parts_;
};

}  // namespace millrace
