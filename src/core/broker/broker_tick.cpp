#include <algorithm>

#include "core/broker/broker_state.hpp"

namespace millrace {

void Broker::State::enqueue_due(const TimeOrder& order, std::uint64_t& counter, Time now) {
  for (std::size_t moved = 0; moved < kSliceJobs; ++moved) {
    if (order.empty() || order.begin()->when > now || is_batch_long()) return;
    const Job& job = store().at(order.begin()->slot);
    ++counter;
    make_ready(job, Store::fields_of(job), now);
  }
}

void Broker::State::expire_reservations(Time now) {
  const TimeOrder& reserved = store().reserved();
  for (std::size_t moved = 0; moved < kSliceJobs; ++moved) {
    if (reserved.empty() || reserved.begin()->when > now || is_batch_long()) return;
    release_expired(store().at(reserved.begin()->slot), now);
  }
}

bool Broker::State::release_held(ClientId client, Time now) {
  for (std::size_t moved = 0; moved < kSliceJobs && !is_batch_long(); ++moved) {
    const TimeOrder* held = store().held_by(client);
    if (held == nullptr) return true;
    const Job& job = store().at(held->begin()->slot);
    make_ready(job, Store::fields_of(job), now);
  }
  return store().held_by(client) == nullptr;
}

void Broker::State::release_departed(Time now) {
  if (departed.empty()) return;
  const ClientId client = departed.front();
  departed.pop_front();
  if (!release_held(client, now)) departed.push_back(client);
}

void Broker::State::end_pauses(Time now) {
  const Store::PauseEnds& ends = store().pause_ends();
  for (std::size_t ended = 0; ended < kSliceJobs; ++ended) {
    if (ends.empty() || ends.begin()->first > now) return;
    unserved.insert(ends.begin()->second);
    store().end_pause();
  }
}

void Broker::State::serve_unserved(Time now) {
  for (std::size_t done = 0; done < kSliceJobs && !unserved.empty(); ++done) {
    const QueueId id = *unserved.begin();
    unserved.erase(unserved.begin());
    if (store().has_queue(id)) done += serve(id, now);
  }
}

void Broker::State::ring_alarms(Time now) {
  for (std::size_t rung = 0; rung < kSliceJobs; ++rung) {
    if (alarms.empty() || alarms.begin()->first > now) return;
    ring(client_of(alarms.begin()->second), now);
  }
}

Time Broker::State::next_purge() const {
  const TimeOrder& dead = ledger.store().dead_work_units();
  if (dead.empty()) return kNever;
  if (dead.size() > options.dead_jobs_max) return Time::min();
  return dead.begin()->when + kDeadLimit;
}

void Broker::State::purge_dead(Time now) {
  for (std::size_t purged = 0; purged < kSliceJobs && next_purge() <= now; ++purged) {
    ++tally.dead_purged;
    drop(store().at(store().dead_work_units().begin()->slot));
  }
}

Time Broker::State::next_deadline() const {
  if (!unserved.empty() || !departed.empty() || !long_tasks.empty()) return Time::min();
  const Store& jobs = ledger.store();
  Time next = std::min(next_reaping, next_purge());
  for (const TimeOrder* order : {&jobs.scheduled(), &jobs.retrying(), &jobs.reserved()}) {
    if (!order->empty()) next = std::min(next, order->begin()->when);
  }
  if (!jobs.pause_ends().empty()) next = std::min(next, jobs.pause_ends().begin()->first);
  if (!alarms.empty()) next = std::min(next, alarms.begin()->first);
  return next;
}

Time Broker::tick(Time now) {
  State& state = *state_;
  state.release_departed(now);
  state.enqueue_due(state.store().scheduled(), state.tally.scheduled_enqueued, now);
  state.enqueue_due(state.store().retrying(), state.tally.retries_enqueued, now);
  state.expire_reservations(now);
  state.end_pauses(now);
  state.serve_unserved(now);
  // After everything that can bring a job: who gets one in this moment has not waited in vain.
  if (state.unserved.empty()) state.ring_alarms(now);
  state.work_long_tasks(now);
  state.purge_dead(now);
  state.reap_workers(now);
  return state.next_deadline();
}

}  // namespace millrace
