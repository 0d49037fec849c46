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

  /// How far it is in one order of the set.
  struct Part {
    /// The entry to look at next; null: all were looked at.
    [[nodiscard]] const TimeEntry* next(const TimeOrder& order) const;

    TimeEntry after = {.when = Time::min(), .id = 0, .slot = 0};  ///< the last entry looked at
    TimeEntry last = after;                                       ///< the end at the start
  };

  struct Next {
    Part* part;
    const TimeEntry* entry;  ///< null: the task is done
  };
  [[nodiscard]] Next next(const Store& store);

  Mutation mutation;
  JobId id_end;  ///< younger jobs stay
  Part steady;   ///< jobs by steady time
  Part wall;     ///< those that follow the wall clock
  std::uint64_t changed = 0;
};

}  // namespace millrace
