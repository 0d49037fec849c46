#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <variant>

#include "core/broker/clients/connected_clients.hpp"
#include "core/broker/tasks/flush_task.hpp"
#include "core/broker/tasks/kick_task.hpp"
#include "core/broker/tasks/mutate_task.hpp"
#include "core/broker/tasks/pause_queues_task.hpp"
#include "core/broker/tasks/remove_queues_task.hpp"
#include "core/broker/tasks/task_context.hpp"

namespace millrace {

/// An operation that can be too long for one turn. A kind has
/// - `work`, which does a slice of it and is true when nothing is left to do,
/// - `changed`, how many jobs or queues it has changed so far,
/// - `kEndsWithClient`, whether it is given up when its client leaves.
using LongTask = std::variant<KickTask, FlushTask, MutateTask, RemoveQueuesTask, PauseQueuesTask>;

/// The operations that were too long for the turn in which they began. They go on in slices, each
/// time the one that has waited for longest.
class LongTasks {
 public:
  /// `clients` and the parts of `context` outlive this.
  LongTasks(TaskContext context, ConnectedClients& clients)
      : context_(context), clients_(clients) {}

  /// Works the first slice. Answers how many jobs or queues were changed if that was all; else
  /// nullopt, and a later `work` delivers kFinished to the client. The client must send no further
  /// command before.
  std::optional<std::uint64_t> start(ClientId client, LongTask task, Time now);

  /// One slice of one task.
  void work(Time now);

  /// When `work` has something to do.
  [[nodiscard]] Time next_due() const { return waiting_.empty() ? kNever : kAtOnce; }

 private:
  struct Started {
    ClientId client;
    LongTask task;
  };

  bool work_slice(LongTask& task, Time now);

  TaskContext context_;
  ConnectedClients& clients_;
  std::deque<Started> waiting_;  ///< the front one has the next slice
};

}  // namespace millrace
