#pragma once

#include <cstdint>

#include "core/broker/tasks/task_context.hpp"

namespace millrace {

/// Removes every job, and forgets which queues are kept and paused. Jobs and queues that come later
/// stay.
struct FlushTask {
  static constexpr bool kEndsWithClient = false;

  explicit FlushTask(const Ledger& ledger);

  /// One slice. True when nothing is left to do.
  bool work(TaskContext& context, Time now);

  JobId id_end;             ///< jobs from this one on stay
  std::uint64_t queue_end;  ///< queues from this place of creation on stay
  JobSlot next_slot = 0;
  std::uint64_t next_queue = 0;
  std::uint64_t changed = 0;

 private:
  void remove_jobs(TaskContext& context, std::size_t& steps);
  bool forget_queues(TaskContext& context, std::size_t& steps);
};

}  // namespace millrace
