#pragma once

#include <cstdint>
#include <optional>

#include "core/broker/tasks/task_context.hpp"

namespace millrace {

/// Removes every batch, every job, every track and what is remembered of pushes, and forgets which
/// queues are kept and paused. What comes later stays; so do tracks that are written, and pushes
/// whose jobs end, after the last job has gone.
struct FlushTask {
  static constexpr bool kEndsWithClient = false;

  explicit FlushTask(const Ledger& ledger);

  /// One slice. True when nothing is left to do.
  bool work(TaskContext& context, Time now);

  JobId id_end;             ///< jobs and batches from this one on stay
  std::uint64_t queue_end;  ///< queues from this place of creation on stay
  JobSlot next_slot = 0;
  std::optional<Time> jobs_gone_at = {};
  Tracks::Slot next_track = 0;
  EndedPushes::Slot next_push = 0;
  std::uint64_t next_queue = 0;
  std::uint64_t changed = 0;

 private:
  /// It was written after the last job had gone. A time that is still to come is from before a
  /// restart at which the clock was set back.
  [[nodiscard]] bool is_younger(Time at, Time now) const { return at > *jobs_gone_at && at <= now; }
  void remove_batches(TaskContext& context, std::size_t& steps) const;
  void remove_jobs(TaskContext& context, std::size_t& steps, Time now);
  bool remove_tracks(TaskContext& context, std::size_t& steps, Time now);
  bool forget_pushes(TaskContext& context, std::size_t& steps, Time now);
  bool forget_queues(TaskContext& context, std::size_t& steps);
};

}  // namespace millrace
