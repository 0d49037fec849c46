#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/broker/tasks/task_context.hpp"

namespace millrace {

/// Deletes the ready jobs of these queues, one queue after the other, ends their pauses and forgets
/// that they were kept. Jobs that come later stay. Unknown names are passed over.
struct RemoveQueuesTask {
  static constexpr bool kEndsWithClient = false;

  RemoveQueuesTask(const Ledger& ledger, std::vector<std::string> given)
      : names(std::move(given)), id_end(ledger.store().totals().now().next_id) {}

  /// One slice. True when nothing is left to do.
  bool work(TaskContext& context, Time now);

  std::vector<std::string> names;
  JobId id_end;  ///< jobs that came into a queue later have a sequence from this on
  std::size_t next_name = 0;
  ReadyEntry after = {};  ///< the last entry looked at in the present queue
  std::uint64_t changed = 0;

 private:
  bool empty_queue(TaskContext& context, Queue& queue, std::size_t& steps, Time now);
};

}  // namespace millrace
