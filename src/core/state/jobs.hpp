#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/slab.hpp"
#include "core/model/job.hpp"
#include "core/model/record.hpp"
#include "core/ports/work_unit.hpp"
#include "core/state/bodies.hpp"
#include "core/state/features/locks.hpp"
#include "core/state/features/tracked_jobs.hpp"
#include "core/state/index/job_index.hpp"
#include "core/state/index/job_names.hpp"
#include "core/state/job_orders.hpp"
#include "core/state/live_kind.hpp"
#include "core/state/log_order.hpp"
#include "core/state/queues.hpp"
#include "core/state/totals.hpp"

namespace millrace {

/// All jobs: where each is in memory and in the log, by its id or its slot. Only `apply` changes
/// one.
class Jobs {
 public:
  /// All of them outlive this. The orders of a queue hold its jobs; the totals learn of ids, and
  /// the throttles of reservations.
  Jobs(Queues& queues, Totals& totals, Throttles& throttles);
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  /// From now on jobs can be looked up by their names, as `format` reads them. To be called before
  /// the first job is added. It outlives this.
  void read_names_by(const WorkUnitFormat& format) { format_ = &format; }

  /// Null when there is none.
  [[nodiscard]] const Job* find(JobId id) const;
  /// Of a slot in use.
  [[nodiscard]] const Job& at(JobSlot slot) const { return jobs_[slot]; }
  /// Null when the slot is free.
  [[nodiscard]] const Job* in_slot(JobSlot slot) const { return jobs_.find(slot); }
  /// Slots in use are below this.
  [[nodiscard]] JobSlot slot_end() const { return jobs_.end(); }

  // The same with the body in memory. A body that only the log holds is read back, which may wait
  // for the disk. One that cannot be read is missing: see `Job::has_body`.
  [[nodiscard]] const Job& with_body(JobSlot slot) const;
  [[nodiscard]] const Job* find_with_body(JobId id) const;
  /// Whether the job has its body now. False: it cannot be read.
  [[nodiscard]] bool load_body(const Job& job) const;
  /// The same, also where it could not be read before.
  [[nodiscard]] bool reload_body(const Job& job) const;

  /// Jobs whose bodies could not be read, and that are still there.
  [[nodiscard]] std::size_t unreadable_count() const { return unreadable_count_; }

  /// The runs of the job that did not end well; null: there is none.
  [[nodiscard]] const Attempts* attempts_of(const Job& job) const {
    return job.has_mark(job_marks::kHasAttempts) ? &*attempts_.at(job.id) : nullptr;
  }

  [[nodiscard]] const JobOrders& orders() const { return orders_; }
  [[nodiscard]] const Locks& locks() const { return locks_; }
  /// Of these locks, without those that their jobs lend.
  [[nodiscard]] std::size_t locks_in_force() const { return locks_.size() - lent_locks_; }
  [[nodiscard]] const TrackedJobs& tracked() const { return tracked_; }
  /// By hashes of jids (`WorkUnitFormat::hash_of_name`): pushed jobs, and of those that were put
  /// the ones that a worker may report late, since a run of it has ended.
  [[nodiscard]] const JobNames& names() const { return names_; }
  [[nodiscard]] Bodies& bodies() const { return bodies_; }

  /// About what jobs and queues take in memory, with and without the bodies.

  // ---- as a live kind ---------------------------------------------------------------------------

  /// A job that is there already stays in its queue: it was only written once more.
  void apply(JobAdded&& record);
  // A change or removal of a job that is not there does nothing: in a log whose beginning was
  // compacted away, the job's whole record comes later.
  void apply(JobChanged&& record);
  void apply(AttemptEnded&& record);
  void apply(JobRemoved&& record);

  [[nodiscard]] std::optional<Lsn> oldest_place() const { return log_.oldest_place(); }
  /// Writes nothing where a body is missing, and the job has no mark of that yet. One that has is
  /// written without it.
  void rewrite_oldest(std::string& batch);
  /// Where the records begin in that batch.
  void set_batch_begin(std::size_t begin) { batch_begin_ = begin; }
  /// The same for the job of that id, which is there, with its body in memory.
  void rewrite(JobId id, std::string& batch);
  void place(Lsn begin);
  [[nodiscard]] std::uint64_t live_bytes() const { return record_bytes_; }
  [[nodiscard]] std::size_t memory_bytes() const { return bodies_.bytes() + other_memory_bytes(); }
  static constexpr AtFlush kAtFlush = AtFlush::kRemoved;

  /// How many jobs were written once more.
  [[nodiscard]] std::uint64_t rewritten_count() const { return rewritten_count_; }

 private:
  [[nodiscard]] std::uint32_t name_hash(const Job& job, const JobAdded& record) const;
  void erase(JobSlot slot);
  void enter_orders(const Job& job, JobSlot slot) {
    orders_.enter(job, slot, attempts_of(job));
    if (job.has_mark(job_marks::kBodyUnreadable)) ++unreadable_count_;
    if (!job.features || !job.has_mark(job_marks::kHoldsLock)) return;
    take_lock(slot);
    if (job.lends_lock()) ++lent_locks_;
  }
  void leave_orders(const Job& job, JobSlot slot, std::optional<JobState> next) {
    orders_.leave(job, slot, next);
    if (job.has_mark(job_marks::kBodyUnreadable)) --unreadable_count_;
    if (!job.features || !job.has_mark(job_marks::kHoldsLock)) return;
    locks_.free(job.features->lock_key, slot);
    if (job.lends_lock()) --lent_locks_;
  }
  void take_lock(JobSlot slot);
  [[nodiscard]] bool rewrite_slot(JobSlot slot, std::string& batch);
  void rewrite_without_body(JobSlot slot, std::string& batch);
  void enter_log(JobSlot slot, std::uint64_t body_at);
  void leave_log(JobSlot slot);
  void spill_some();
  [[nodiscard]] std::size_t other_memory_bytes() const;
  [[nodiscard]] std::size_t bytes_beside_bodies() const {
    return other_memory_bytes() + queues_.memory_bytes();
  }
  [[nodiscard]] std::uint64_t whole_bytes(const Job& job) const;
  void count_out(std::uint64_t bytes);

  Queues& queues_;
  Totals& totals_;
  Slab<Job> jobs_;
  JobIndex index_;
  JobOrders orders_;
  Locks locks_{jobs_};
  std::size_t lent_locks_ = 0;
  TrackedJobs tracked_;
  const WorkUnitFormat* format_ = nullptr;
  JobNames names_{jobs_};
  /// Of jobs with that mark, which few have.
  absl::flat_hash_map<JobId, std::unique_ptr<Attempts>> attempts_;
  std::size_t batch_begin_ = 0;
  mutable Bodies bodies_;

  struct NodeOf {
    Slab<Job>* jobs;
    LogNode& operator()(JobSlot slot) const { return (*jobs)[slot].log; }
  };
  LogOrder<NodeOf> log_{NodeOf{&jobs_}};
  /// Each job that comes later in the log is spilled, or was brought back since.
  std::optional<JobSlot> newest_resident_;
  std::uint64_t record_bytes_ = 0;
  std::uint64_t all_body_bytes_ = 0;  ///< in memory or not
  std::uint64_t rewritten_count_ = 0;
  std::size_t unreadable_count_ = 0;
};

}  // namespace millrace
