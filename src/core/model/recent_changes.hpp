#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "core/model/types.hpp"

namespace millrace {

/// Which jobs were changed so that they can be reserved, as long as the disk may not have the
/// change: released, kicked, tried again, due. A new job is not among them, since its place in the
/// log is known (`Job::log`). So what most jobs live through costs nothing here.
///
/// Jobs share slots, by their ids. So a job may seem to have been changed later than it was, and
/// never earlier: its client then waits a little longer.
class RecentChanges {
 public:
  /// The batch that is being collected changes the job.
  void note(JobId id) {
    batches_[id % kSlots] = first_ + ends_.size();
    is_collecting_ = true;
  }

  /// That batch is in the log now, and ends there.
  void place(Lsn end);

  /// Everything before this is durable.
  void forget(Lsn durable);

  /// The end of the batch with the newest change of the job; kWholeLog while that batch is being
  /// collected; 0 when there is none, or it is forgotten.
  [[nodiscard]] Lsn end_of(JobId id) const;

  static constexpr std::size_t kSlots = 4096;

 private:
  std::array<std::uint64_t, kSlots> batches_{};  ///< the number of the batch with the newest change
  std::deque<Lsn> ends_;     ///< of the batches with changes that are in the log
  std::uint64_t first_ = 1;  ///< the number of the first of them
  bool is_collecting_ = false;
};

}  // namespace millrace
