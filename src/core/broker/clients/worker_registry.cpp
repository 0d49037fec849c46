#include "core/broker/clients/worker_registry.hpp"

#include <algorithm>

namespace millrace {
namespace {

/// How often the workers are looked at for missing heartbeats (reference server: 15 s).
constexpr Duration kReapingInterval = 15s;

}  // namespace

Answer<Done> WorkerRegistry::add(ClientId id, WorkerHello hello, Time now) {
  if (hello.wid.size() > kWidBytesMax) return Refusal::kNameTooLong;
  Client& client = clients_.at(id);
  CHECK(client.wid.empty());
  client.wid = hello.wid;
  // A worker has several connections. What the first one said of it stays.
  const auto [place, is_new] = workers_.try_emplace(hello.wid);
  Worker& worker = place->second;
  worker.clients.insert(id);
  if (!is_new) return Done{};
  worker.wid = std::move(hello.wid);
  worker.hostname = std::move(hello.hostname);
  worker.pid = hello.pid;
  worker.labels = std::move(hello.labels);
  worker.started_at = now;
  worker.last_beat = now;
  throttles_.set_worker_lives(worker.wid, true);
  next_reaping_ = std::min(next_reaping_, now + kReapingInterval);
  return Done{};
}

void WorkerRegistry::remove(const Client& client) {
  if (client.wid.empty()) return;
  const auto worker = workers_.find(client.wid);
  CHECK(worker != workers_.end());
  const std::size_t erased = worker->second.clients.erase(client.id);
  CHECK(erased == 1);
  // Its jobs stay reserved until reserve_for ends: a worker may connect again.
  if (!worker->second.clients.empty()) return;
  throttles_.set_worker_lives(client.wid, false);
  workers_.erase(worker);
}

Answer<Worker::State> WorkerRegistry::beat(std::string_view wid, Worker::State asked,
                                           std::int64_t rss_kb, Time now) {
  const auto found = workers_.find(std::string(wid));
  if (found == workers_.end()) return Refusal::kNotFound;
  found->second.last_beat = now;
  found->second.rss_kb = rss_kb;
  return advance(found->second, asked, now);
}

Answer<Worker::State> WorkerRegistry::tell(std::string_view wid, Worker::State asked, Time now) {
  const auto found = workers_.find(std::string(wid));
  if (found == workers_.end()) return Refusal::kNotFound;
  return advance(found->second, asked, now);
}

/// A worker that is told to stop must get no further job, not even by a FETCH that waits already.
Worker::State WorkerRegistry::advance(Worker& worker, Worker::State asked, Time now) {
  // A worker that was told to stop stays so, whatever is asked later (Faktory).
  worker.state = std::max(worker.state, asked);
  if (worker.state == Worker::State::kRunning) return worker.state;
  for (const ClientId id : worker.clients) {
    Client& client = clients_.at(id);
    if (client.wait) waits_.end(client, Delivery::Kind::kTimedOut, now);
  }
  return worker.state;
}

void WorkerRegistry::reap(Time now) {
  if (now < next_reaping_) return;
  // Names, since a worker that is evicted leaves the map.
  std::vector<std::string> silent;
  for (const auto& [wid, worker] : workers_) {
    if (now - worker.last_beat > kHeartbeatLimit) silent.push_back(wid);
  }
  for (const std::string& wid : silent) {
    const auto worker = workers_.find(wid);
    evict(worker->second, now);
    workers_.erase(worker);
  }
  next_reaping_ = workers_.empty() ? kNever : now + kReapingInterval;
}

/// The connections stay until their sessions close them, and by then the worker is gone.
void WorkerRegistry::evict(const Worker& worker, Time now) {
  ++tally_.workers_reaped;
  throttles_.set_worker_lives(worker.wid, false);
  for (const ClientId id : worker.clients) {
    Client& client = clients_.at(id);
    client.wid.clear();
    if (client.wait) waits_.end(client);
    clients_.deliver(client, {.kind = Delivery::Kind::kEvicted}, now);
  }
}

}  // namespace millrace
