#pragma once

#include <cstdint>

#include "core/broker/tasks/task_context.hpp"

namespace millrace {

/// Makes dead jobs of a queue ready, oldest first; or delayed ones, soonest first.
struct KickTask {
  /// The queue stays while its client uses it.
  static constexpr bool kEndsWithClient = true;

  /// Kicks up to `bound` of the jobs that are dead now; if none is, of those that are delayed.
  KickTask(const Queue& queue, std::uint64_t bound);

  /// One slice. True when nothing is left to do.
  bool work(TaskContext& context, Time now);

  QueueId queue;
  bool kicks_dead;
  std::uint64_t left;
  std::uint64_t changed = 0;
  /// Of dead jobs the last one that was looked at: one that cannot come back stays before it.
  TimeEntry after = {.when = Time::min(), .id = 0, .slot = 0};
  TimeEntry last = after;  ///< dead jobs after this one died later

 private:
  bool kick_dead(const TimeOrder& dead, TaskContext& context, Time now);
  bool kick_delayed(const Queue& kicked, TaskContext& context, Time now);
};

}  // namespace millrace
