#pragma once

#include <cstdint>

#include "core/broker/requests.hpp"
#include "core/broker/tasks/task_context.hpp"

namespace millrace {

/// Changes the matching jobs of a server-wide set. Jobs that come into the set later are left
/// alone, and no job is changed twice.
struct MutateTask {
  static constexpr bool kEndsWithClient = false;

  MutateTask(const Ledger& ledger, Mutation given);

  /// One slice. True when nothing is left to do.
  bool work(TaskContext& context, Time now);

  Mutation mutation;
  JobId id_end;                                                 ///< younger jobs stay
  TimeEntry after = {.when = Time::min(), .id = 0, .slot = 0};  ///< the last entry looked at
  TimeEntry last = after;                                       ///< the end of the set at the start
  std::uint64_t changed = 0;
};

}  // namespace millrace
