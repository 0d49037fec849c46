#include <algorithm>

#include "core/broker/broker_state.hpp"

namespace millrace {

bool Broker::State::work_kick(LongTask& task, Time now) {
  Queue& queue = store().queue(task.queue);
  const TimeOrder& order = task.kind == LongTask::Kind::kKickDead ? queue.dead : queue.delayed;
  for (std::size_t i = 0; i < kSliceChanges && task.left > 0 && !order.empty(); ++i) {
    if (is_batch_long()) return false;
    kick(store().at(order.begin()->slot), now);
    --task.left;
    ++task.moved;
  }
  return task.left == 0 || order.empty();
}

/// First all jobs by slot, so that jobs that come meanwhile neither stay unseen nor prolong it,
/// then what is remembered of queues.
bool Broker::State::work_flush(LongTask& task) {
  std::size_t steps = 0;
  const JobSlot end = store().slot_end();
  for (; task.next_slot < end && steps < kSliceJobs; ++task.next_slot, ++steps) {
    const Job* job = store().in_slot(task.next_slot);
    if (job == nullptr || job->id >= task.id_end) continue;
    drop(*job);
    ++task.moved;
  }
  if (task.next_slot < end) return false;
  for (; steps < kSliceJobs; ++steps) {
    const auto place = store().queues().lower_bound(task.next_queue);
    if (place == store().queues().end() || place->first >= task.queue_end) return true;
    task.next_queue = place->first + 1;
    const Queue& queue = store().queue(place->second);
    if (!queue.is_kept && queue.paused_until == Time{}) continue;
    // One that holds a job by now was pushed to meanwhile.
    ledger.commit(
        QueueChanged{.name = queue.name, .is_kept = queue.is_kept && queue.job_count() > 0});
  }
  return false;
}

bool Broker::State::work(LongTask& task, Time now) {
  switch (task.kind) {
    case LongTask::Kind::kKickDead:
    case LongTask::Kind::kKickDelayed:
      return work_kick(task, now);
    case LongTask::Kind::kFlush:
      return work_flush(task);
    case LongTask::Kind::kMutate:
      return work_mutate(task, now);
    case LongTask::Kind::kRemoveQueues:
      return work_remove(task, now);
    case LongTask::Kind::kPauseQueues:
      return work_pause(task, now);
  }
  return true;
}

std::optional<std::uint64_t> Broker::State::start(LongTask task, Time now) {
  if (work(task, now)) return task.moved;
  long_tasks.push_back(std::move(task));
  return std::nullopt;
}

void Broker::State::work_long_tasks(Time now) {
  if (long_tasks.empty()) return;
  LongTask task = std::move(long_tasks.front());
  long_tasks.pop_front();
  const bool is_kick =
      task.kind == LongTask::Kind::kKickDead || task.kind == LongTask::Kind::kKickDelayed;
  const auto client = clients.find(task.client);
  const bool is_wanted = client != clients.end();
  // A kick works on the queue that its client uses, and that may be gone with the client.
  if (!is_wanted && is_kick) return;
  if (!work(task, now)) {
    long_tasks.push_back(std::move(task));
  } else if (is_wanted) {
    deliver(client->second,
            {.kind = Delivery::Kind::kFinished, .job = nullptr, .count = task.moved}, now);
  }
}

std::optional<std::uint64_t> Broker::kick(ClientId id, std::uint64_t bound, Time now) {
  const Client& client = state_->client_of(id);
  const Queue& queue = state_->store().queue(*client.used);
  LongTask task;
  task.client = id;
  task.queue = queue.id;
  task.kind = queue.dead.empty() ? LongTask::Kind::kKickDelayed : LongTask::Kind::kKickDead;
  // What is buried or delayed again while this goes on is not kicked a second time.
  task.left =
      std::min<std::uint64_t>(bound, queue.dead.empty() ? queue.delayed.size() : queue.dead.size());
  return state_->start(std::move(task), now);
}

bool Broker::flush(ClientId id, Time now) {
  LongTask task;
  task.client = id;
  task.kind = LongTask::Kind::kFlush;
  task.id_end = state_->ledger.counters().next_id;
  task.queue_end = state_->store().next_creation();
  state_->ledger.reset_counters();
  return state_->start(std::move(task), now).has_value();
}

}  // namespace millrace
