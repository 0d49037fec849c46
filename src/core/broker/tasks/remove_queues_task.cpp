#include "core/broker/tasks/remove_queues_task.hpp"

#include "core/broker/queue_guard.hpp"

namespace millrace {

/// True when no ready job of the queue is left to delete. In the queue's order, since jobs that
/// come meanwhile can be anywhere in it.
bool RemoveQueuesTask::empty_queue(TaskContext& context, Queue& queue, std::size_t& steps,
                                   Time now) {
  const QueueGuard guard(queue);
  for (; steps < kSliceJobs; ++steps) {
    const auto place = queue.ready.upper_bound(after);
    if (place == queue.ready.end()) return true;
    after = *place;
    if (place->sequence >= id_end) continue;
    const Job& job = context.ledger.store().jobs().at(place->slot);
    steps += context.moves.steps_to_remove(job, JobEnd::kGone) - 1;
    context.moves.discard(job, JobEnd::kGone, now);
    ++changed;
  }
  return false;
}

bool RemoveQueuesTask::work(TaskContext& context, Time now) {
  Store& store = context.ledger.store();
  for (std::size_t steps = 0; next_name < names.size(); ++steps) {
    const std::string& name = names[next_name];
    if (Queue* queue = store.queues().find(name)) {
      if (!empty_queue(context, *queue, steps, now)) return false;
      // Neither kept nor paused: the queue vanishes when nothing else needs it.
      context.ledger.commit(QueueChanged{.name = name});
      // The pause has ended, and a client may wait for the jobs that came later.
      if (const Queue* left = store.queues().find(name)) context.waits.serve(left->id, now);
    }
    ++next_name;
    after = {};
    if (steps >= kSliceJobs) break;
  }
  return next_name == names.size();
}

}  // namespace millrace
