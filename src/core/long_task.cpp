#include <algorithm>

#include "core/broker_state.hpp"

namespace millrace {

bool Broker::State::work_kick(LongTask& task, Time now) {
  Queue& queue = store().queue(task.queue);
  const TimeOrder& order = task.kind == LongTask::Kind::kKickDead ? queue.dead : queue.delayed;
  for (std::size_t i = 0; i < kSliceJobs && task.left > 0 && !order.empty(); ++i) {
    const Job& job = store().at(order.begin()->slot);
    JobFields fields = Store::fields_of(job);
    ++fields.tallies.kicks;
    make_ready(job, std::move(fields), now);
    --task.left;
    ++task.moved;
  }
  return task.left == 0 || order.empty();
}

/// First all jobs by slot, so that jobs that come meanwhile neither stay unseen nor prolong it,
/// then what is remembered of queues.
bool Broker::State::work_flush(LongTask& task) {
  std::size_t steps = 0;
  for (; task.next_slot < store().slot_end() && steps < kSliceJobs; ++task.next_slot, ++steps) {
    const Job& job = store().at(task.next_slot);
    if (job.id == 0 || job.id >= task.id_end) continue;
    drop(job);
    ++task.moved;
  }
  if (task.next_slot < store().slot_end()) return false;
  auto place = store().queues().lower_bound(task.next_queue);
  while (place != store().queues().end() && steps < kSliceJobs) {
    const Queue& queue = store().queue(place->second);
    task.next_queue = place->first + 1;
    ++steps;
    if (queue.is_kept || queue.paused_until != Time{}) {
      ledger.commit(QueueChanged{.name = queue.name});
    }
    place = store().queues().lower_bound(task.next_queue);
  }
  return place == store().queues().end();
}

bool Broker::State::work(LongTask& task, Time now) {
  switch (task.kind) {
    case LongTask::Kind::kKickDead:
    case LongTask::Kind::kKickDelayed:
      return work_kick(task, now);
    case LongTask::Kind::kFlush:
      return work_flush(task);
  }
  return true;
}

bool Broker::State::start(LongTask& task, Time now) {
  if (work(task, now)) return true;
  long_tasks.push_back(task);
  return false;
}

void Broker::State::work_long_tasks(Time now) {
  if (long_tasks.empty()) return;
  LongTask task = long_tasks.front();
  long_tasks.pop_front();
  const auto client = clients.find(task.client);
  const bool is_wanted = client != clients.end();
  if (!is_wanted && task.kind != LongTask::Kind::kFlush) return;
  if (!work(task, now)) {
    long_tasks.push_back(task);
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
  if (!state_->start(task, now)) return std::nullopt;
  return task.moved;
}

bool Broker::flush(ClientId id, Time now) {
  LongTask task;
  task.client = id;
  task.kind = LongTask::Kind::kFlush;
  task.id_end = state_->ledger.counters().next_id;
  state_->ledger.reset_counters();
  return state_->start(task, now);
}

}  // namespace millrace
