#include <algorithm>

#include "core/broker/broker_state.hpp"

namespace millrace {
namespace {

/// To enter a queue's line and to leave it costs about as much as looking at so many queues.
constexpr std::size_t kWaitSteps = 8;

}  // namespace

void Broker::State::deliver(Client& client, const Delivery& delivery, Time now) {
  if (!client.is_woken) woken.push_back(client.id);
  client.is_woken = true;
  client.session->deliver(delivery, now);
}

std::size_t Broker::State::serve(QueueId id, Time now) {
  Queue& queue = store().queue(id);
  if (queue.waiting.empty() || queue.is_paused(now)) return 0;
  // Both a wait that ends and a job that leaves could be the last reason for the queue to exist.
  ++queue.watcher_count;
  std::size_t served = 0;
  for (; !queue.waiting.empty() && !queue.ready.empty(); ++served) {
    if (served == kSliceJobs) {
      unserved.insert(id);
      break;
    }
    Client& client = client_of(queue.waiting.begin()->second);
    Reservation reservation{.client = client.wait->wid ? 0 : client.id,
                            .wid = client.wait->wid.value_or(""),
                            .jid = {},
                            .reserved_at = now};
    end_wait(client);
    const Job& job = hold(store().at(queue.ready.begin()->slot), std::move(reservation), now);
    expect_next(queue);
    deliver(client, {.kind = Delivery::Kind::kJob, .job = &job}, now);
  }
  --queue.watcher_count;
  return served;
}

/// Looked at once for several jobs, which costs about as much as for one.
void Broker::State::expect_next(Queue& queue) {
  constexpr std::uint32_t kAheadJobs = 64;
  if (store().bodies().spilled_count() == 0) return;
  if (queue.taken_count++ % (kAheadJobs / 2) != 0) return;
  std::uint32_t count = 0;
  for (const ReadyEntry& entry : queue.ready) {
    if (count++ == kAheadJobs) return;
    store().bodies().expect(store().at(entry.slot));
  }
}

const Job* Broker::State::choose(const Client& client, const ReserveRequest& request, Time now) {
  const ReadyEntry* best = nullptr;
  const auto consider = [&](const Queue& queue) {
    if (queue.ready.empty() || queue.is_paused(now)) return false;
    const ReadyEntry& first = *queue.ready.begin();
    if (best == nullptr || first < *best) best = &first;
    return true;
  };
  if (request.choice == ReserveRequest::Choice::kSmallest) {
    step_count += client.watched.size();
    for (const QueueId id : client.watched) consider(store().queue(id));
  } else {
    step_count += request.queues.size();
    for (const std::string_view name : request.queues) {
      const Queue* queue = store().find_queue(name);
      if (queue != nullptr && consider(*queue)) break;
    }
  }
  return best == nullptr ? nullptr : &store().at(best->slot);
}

void Broker::State::begin_wait(Client& client, const ReserveRequest& request) {
  Wait wait;
  wait.ticket = next_ticket++;
  wait.wid = request.wid;
  wait.until = request.wait_until;
  if (request.choice == ReserveRequest::Choice::kSmallest) {
    wait.queues = client.watched;
  } else {
    for (const std::string_view name : request.queues) {
      if (name.size() <= kQueueNameBytesMax) wait.queues.push_back(store().open_queue(name));
    }
  }
  step_count += kWaitSteps * wait.queues.size();
  for (const QueueId id : wait.queues) store().queue(id).waiting.emplace(wait.ticket, client.id);
  wait.alarm = wait.wid ? wait.until : std::min(wait.until, deadline_soon_at(client.id));
  if (wait.alarm != kNever) alarms.emplace(wait.alarm, client.id);
  client.wait = std::move(wait);
  ++tally.waiting;
}

void Broker::State::end_wait(Client& client) {
  const Wait wait = std::move(*client.wait);
  client.wait.reset();
  --tally.waiting;
  alarms.erase({wait.alarm, client.id});
  for (const QueueId id : wait.queues) store().queue(id).waiting.erase(wait.ticket);
  for (const QueueId id : wait.queues) {
    // A queue named twice is collected once.
    if (store().has_queue(id)) store().collect_queue(id);
  }
}

Time Broker::State::deadline_soon_at(ClientId client) const {
  const TimeOrder* held = ledger.store().held_by(client);
  return held == nullptr ? kNever : held->begin()->when - kSafetyMargin;
}

void Broker::State::ring(Client& client, Time now) {
  Wait& wait = *client.wait;
  const Time soon_at = wait.wid ? kNever : deadline_soon_at(client.id);
  if (soon_at <= now || wait.until <= now) {
    const auto kind = soon_at <= now ? Delivery::Kind::kDeadlineSoon : Delivery::Kind::kTimedOut;
    end_wait(client);
    deliver(client, {.kind = kind}, now);
    return;
  }
  alarms.erase({wait.alarm, client.id});
  wait.alarm = std::min(wait.until, soon_at);
  if (wait.alarm != kNever) alarms.emplace(wait.alarm, client.id);
}

}  // namespace millrace
