#include "core/broker/clients/worker_registry.hpp"

#include <algorithm>
#include <utility>

namespace millrace {
namespace {

/// How often the workers are looked at for missing heartbeats (reference server: 15 s).
constexpr Duration kReapingInterval = 15s;

/// How often a client's FETCH is noted.
constexpr Duration kNoteInterval = 1s;

}  // namespace

Answer<Done> WorkerRegistry::add(ClientId id, WorkerHello hello, Time now) {
  if (hello.wid.size() > kWidBytesMax) return Refusal::kNameTooLong;
  Client& client = parts_.clients.at(id);
  CHECK(client.wid.empty());
  client.wid = hello.wid;
  // A worker has several connections. What the first one said of it stays.
  const auto [place, is_new] = workers_.try_emplace(hello.wid);
  Worker& worker = place->second;
  worker.clients.insert(id);
  if (std::exchange(worker.has_dropped, false)) note_beats(worker, false);
  client.worker_beats = worker.beats_steadily;
  if (!is_new) return Done{};
  worker.wid = std::move(hello.wid);
  worker.hostname = std::move(hello.hostname);
  worker.pid = hello.pid;
  worker.labels = std::move(hello.labels);
  worker.started_at = now;
  worker.last_beat = now;
  worker.may_hold_jobs = parts_.gone.remove(worker.wid);
  next_reaping_ = std::min(next_reaping_, now + kReapingInterval);
  return Done{};
}

void WorkerRegistry::remove(const Client& client, Time now) {
  if (client.wid.empty()) return;
  const auto worker = workers_.find(client.wid);
  CHECK(worker != workers_.end());
  const std::size_t erased = worker->second.clients.erase(client.id);
  CHECK(erased == 1);
  worker->second.former_runs.add(client.runs);
  worker->second.may_hold_jobs |= client.has_taken;
  worker->second.has_dropped |= !client.keeps_jobs;
  // A worker may connect again: its jobs stay reserved until its time is over.
  if (!worker->second.clients.empty()) return;
  if (worker->second.may_hold_jobs) parts_.gone.add(worker->second, client.keeps_jobs, now);
  workers_.erase(worker);
}

Answer<Worker::State> WorkerRegistry::beat(std::string_view wid, Worker::State asked,
                                           std::int64_t rss_kb, Time now) {
  const auto found = workers_.find(std::string(wid));
  if (found == workers_.end()) return Refusal::kNotFound;
  found->second.last_beat = now;
  found->second.has_beaten = true;
  note_beats(found->second, true);
  found->second.rss_kb = rss_kb;
  return advance(found->second, asked, now);
}

/// Its connections know it, too, since each FETCH asks.
void WorkerRegistry::note_beats(Worker& worker, bool are_steady) {
  if (std::exchange(worker.beats_steadily, are_steady) == are_steady) return;
  for (const ClientId id : worker.clients) parts_.clients.at(id).worker_beats = are_steady;
}

Answer<Worker::State> WorkerRegistry::tell(std::string_view wid, Worker::State asked, Time now) {
  const auto found = workers_.find(std::string(wid));
  if (found == workers_.end()) return Refusal::kNotFound;
  return advance(found->second, asked, now);
}

void WorkerRegistry::note_queues(Client& client, const std::vector<std::string_view>& queues,
                                 Time now) {
  client.next_note = now + kNoteInterval;
  // In the order of the list, as far as is remembered of a worker.
  const std::size_t count = std::min(queues.size(), ServedQueues::kCountMax);
  for (std::size_t i = 0; i < count; ++i) {
    if (Queue* const queue = parts_.queues.find(queues[i])) queue->fetched_at = now;
  }
  if (client.wid.empty()) return;
  const auto worker = workers_.find(client.wid);
  CHECK(worker != workers_.end());
  worker->second.queues.note(queues, now);
}

/// A worker that is told to stop must get no further job, not even by a FETCH that waits already.
Worker::State WorkerRegistry::advance(Worker& worker, Worker::State asked, Time now) {
  // A worker that was told to stop stays so, whatever is asked later (Faktory).
  worker.state = std::max(worker.state, asked);
  if (worker.state == Worker::State::kRunning) return worker.state;
  for (const ClientId id : worker.clients) {
    Client& client = parts_.clients.at(id);
    if (client.wait) parts_.waits.end(client, Delivery::Kind::kTimedOut, now);
  }
  return worker.state;
}

void WorkerRegistry::reap(Time now) {
  if (now < next_reaping_) return;
  // Names, since a worker that is evicted leaves the map.
  std::vector<std::string> silent;
  for (const auto& [wid, worker] : workers_) {
    if (now - worker.last_beat > kHeartbeatLimit && !has_taken(worker)) silent.push_back(wid);
  }
  for (const std::string& wid : silent) {
    const auto worker = workers_.find(wid);
    const Worker gone = std::move(worker->second);
    workers_.erase(worker);
    evict(gone, now);
  }
  next_reaping_ = workers_.empty() ? kNever : now + kReapingInterval;
}

bool WorkerRegistry::extends(const Reservation& held, Time now) const {
  if (!parts_.gone.rules().extends || held.wid.empty()) return false;
  const auto found = workers_.find(held.wid);
  return found != workers_.end() && found->second.has_beaten &&
         now - found->second.last_beat <= kHeartbeatLimit;
}

/// Its report of a job needs the connection, and a connection that stays open tells that the worker
/// has not ended. The system ends one whose machine is gone.
bool WorkerRegistry::has_taken(const Worker& worker) const {
  return worker.may_hold_jobs || std::ranges::any_of(worker.clients, [this](ClientId id) {
           return parts_.clients.at(id).has_taken;
         });
}

/// The connections stay until their sessions close them, and by then the worker is gone.
void WorkerRegistry::evict(const Worker& worker, Time now) {
  ++parts_.tally.workers_reaped;
  for (const ClientId id : worker.clients) {
    Client& client = parts_.clients.at(id);
    client.wid.clear();
    if (client.wait) parts_.waits.end(client);
    parts_.clients.deliver(client, {.kind = Delivery::Kind::kEvicted}, now);
  }
}

}  // namespace millrace
