#include "core/broker/broker_state.hpp"

/// Operations on several queues by name.
namespace millrace {

bool Broker::State::empty_queue(LongTask& task, Queue& queue, std::size_t& steps) {
  for (; steps < kSliceJobs; ++steps) {
    const auto place = queue.ready.upper_bound(task.after_ready);
    if (place == queue.ready.end()) return true;
    task.after_ready = *place;
    if (place->sequence >= task.id_end) continue;
    ++queue.delete_count;
    drop(store().at(place->slot));
    ++task.moved;
  }
  return false;
}

/// Queue by queue, each in its ready order. Jobs that come meanwhile stay.
bool Broker::State::work_remove(LongTask& task, Time now) {
  for (std::size_t steps = 0; task.next_name < task.names.size(); ++steps) {
    const std::string& name = task.names[task.next_name];
    if (Queue* queue = store().find_queue(name)) {
      // Its last job could be the last reason for it to exist.
      ++queue->watcher_count;
      const bool is_empty = empty_queue(task, *queue, steps);
      --queue->watcher_count;
      if (!is_empty) return false;
      ledger.commit(QueueChanged{.name = name});
      if (const Queue* left = store().find_queue(name)) serve(left->id, now);
    }
    ++task.next_name;
    task.after_ready = {};
    if (steps >= kSliceJobs) break;
  }
  return task.next_name == task.names.size();
}

bool Broker::State::work_pause(LongTask& task, Time now) {
  for (std::size_t i = 0; i < kSliceJobs && task.next_name < task.names.size(); ++i) {
    if (pause(task.names[task.next_name++], task.pause_s, now)) ++task.moved;
  }
  return task.next_name == task.names.size();
}

std::optional<std::uint64_t> Broker::pause_queues(ClientId id, std::vector<std::string> names,
                                                  std::optional<std::uint32_t> seconds, Time now) {
  LongTask task;
  task.kind = LongTask::Kind::kPauseQueues;
  task.client = id;
  task.names = std::move(names);
  task.pause_s = seconds;
  return state_->start(std::move(task), now);
}

std::optional<std::uint64_t> Broker::remove_queues(ClientId id, std::vector<std::string> names,
                                                   Time now) {
  LongTask task;
  task.kind = LongTask::Kind::kRemoveQueues;
  task.client = id;
  task.id_end = state_->ledger.counters().next_id;
  task.names = std::move(names);
  return state_->start(std::move(task), now);
}

}  // namespace millrace
