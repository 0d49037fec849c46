#pragma once

#include <absl/container/btree_map.h>
#include <absl/container/btree_set.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/model/features/attempt.hpp"
#include "core/model/job.hpp"
#include "core/state/index/jobs_by_state.hpp"

namespace millrace {

/// The jobs that have failed, in groups of one failure (`failure_group_number`). A job stays in its
/// group while it waits or runs again, until it fails in another way or ends.
class FailureGroups {
 public:
  struct Group {
    JobsByState jobs;
    std::size_t size = 0;                            ///< of `jobs`, all states
    absl::btree_map<QueueId, std::uint64_t> queues;  ///< how many of them are of which queue
    /// The first and the last failure of jobs that were in the group, since it is not empty. Of a
    /// job that comes whole from the log, the first one is that of its type of error.
    Time first_at = kNever;
    Time last_at = Time::min();

    /// A job to look at: the newest of the first state of `kSampled` that has one.
    [[nodiscard]] JobId sample() const;
  };
  /// All states, those first whose jobs a person wants to see.
  static constexpr std::array<JobState, kJobStateCount> kSampled = {
      JobState::kDead, JobState::kRetrying, JobState::kReserved, JobState::kReady,
      JobState::kScheduled};

  /// The place of a group among all of them.
  struct Place {
    std::size_t size;
    std::uint64_t group;

    friend bool operator<(const Place& a, const Place& b) {
      return a.size != b.size ? a.size > b.size : a.group < b.group;
    }
  };
  /// The largest first.
  using Order = absl::btree_set<Place>;

  /// Jobs that have not failed are passed over. To be called when a job has its state, and before
  /// it changes; `is_removed`: it does not enter again at once. `attempts`: of the job, or null.
  void enter(const Job& job, JobSlot slot, const Attempts* attempts);
  void leave(const Job& job, JobSlot slot, bool is_removed);

  [[nodiscard]] const Order& by_size() const { return by_size_; }
  /// Null: no job has that failure. Valid until a job enters or leaves.
  [[nodiscard]] const Group* find(std::uint64_t group) const;
  [[nodiscard]] const JobsByState::Order& of(std::uint64_t group, JobState state) const;

  /// About what all of it takes.
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  using Groups = absl::btree_map<std::uint64_t, Group>;
  /// By +1 or -1.
  void resize(std::uint64_t number, int by);

  // Not hashed: a table that grows moves all its entries.
  Groups groups_;
  Order by_size_;
  std::size_t size_ = 0;  ///< of all groups
  /// The group that a job has left to enter again at once, mostly this one: it still counts there.
  /// 0: none has.
  std::uint64_t left_ = 0;
};

}  // namespace millrace
