#include <algorithm>

#include "core/broker/broker_state.hpp"

namespace millrace {
namespace {

/// How often the workers are looked at for missing heartbeats (reference server: 15 s).
constexpr Duration kReapingInterval = 15s;

/// Of jobs with the same name, so many are looked at for one that the asking worker holds.
constexpr std::size_t kNamesakesMax = 64;

}  // namespace

Answer<Done> Broker::register_worker(ClientId id, WorkerHello hello, Time now) {
  if (hello.wid.size() > kWidBytesMax) return Refusal::kNameTooLong;
  Client& client = state_->client_of(id);
  client.wid = hello.wid;
  const auto [place, is_new] = state_->workers.try_emplace(hello.wid);
  Worker& worker = place->second;
  worker.clients.insert(id);
  if (!is_new) return Done{};
  worker.wid = std::move(hello.wid);
  worker.hostname = std::move(hello.hostname);
  worker.pid = hello.pid;
  worker.labels = std::move(hello.labels);
  worker.started_at = now;
  worker.last_beat = now;
  state_->next_reaping = std::min(state_->next_reaping, now + kReapingInterval);
  return Done{};
}

Answer<Worker::State> Broker::beat(std::string_view wid, Worker::State asked, std::int64_t rss_kb,
                                   Time now) {
  const auto found = state_->workers.find(std::string(wid));
  if (found == state_->workers.end()) return Refusal::kNotFound;
  Worker& worker = found->second;
  worker.last_beat = now;
  worker.rss_kb = rss_kb;
  worker.state = std::max(worker.state, asked);
  if (worker.state != Worker::State::kRunning) state_->end_waits_of(worker, now);
  return worker.state;
}

void Broker::State::end_waits_of(const Worker& worker, Time now) {
  for (const ClientId id : worker.clients) {
    Client& client = client_of(id);
    if (!client.wait) continue;
    end_wait(client);
    deliver(client, {.kind = Delivery::Kind::kTimedOut}, now);
  }
}

void Broker::State::reap_workers(Time now) {
  if (now < next_reaping) return;
  std::vector<std::string> silent;
  for (const auto& [wid, worker] : workers) {
    if (now - worker.last_beat > kHeartbeatLimit) silent.push_back(wid);
  }
  for (const std::string& wid : silent) {
    const auto worker = workers.find(wid);
    ++tally.workers_reaped;
    for (const ClientId id : worker->second.clients) {
      Client& client = client_of(id);
      client.wid.clear();
      if (client.wait) end_wait(client);
      deliver(client, {.kind = Delivery::Kind::kEvicted}, now);
    }
    workers.erase(worker);
  }
  next_reaping = workers.empty() ? kNever : now + kReapingInterval;
}

Answer<Done> Broker::ack(ClientId client, std::string_view jid, Time now) {
  const Job* job = state_->named_job(client, jid);
  if (job == nullptr) return Refusal::kNotFound;
  state_->ledger.count_processed(now);
  state_->count_run(*job, now);
  ++state_->store().queue(job->queue).delete_count;
  state_->drop(*job);
  return Done{};
}

Answer<Done> Broker::give_back(JobId id, Time reserved_at, Time now) {
  const Job* job = state_->store().find(id);
  if (job == nullptr || job->state != JobState::kReserved) return Refusal::kNotFound;
  const Reservation& held = *job->reservation();
  if (!held.is_held_by_worker() || held.reserved_at != reserved_at) return Refusal::kNotFound;
  JobFields fields = Store::fields_of(*job);
  fields.state = JobState::kReady;
  fields.when = Time{};
  fields.reservation.reset();
  --fields.tallies.reserves;
  const QueueId queue = job->queue;
  state_->ledger.commit(JobChanged{.id = id, .fields = std::move(fields)});
  state_->serve(queue, now);
  return Done{};
}

Answer<Done> Broker::fail(ClientId client, std::string_view jid, FailedRun run, Time now) {
  const Job* job = state_->named_job(client, jid);
  if (job == nullptr) return Refusal::kNotFound;
  state_->fail(*job, std::move(run), now);
  return Done{};
}

const Job* Broker::State::named_job(ClientId id, std::string_view jid) {
  const Store::JobIds* ids = store().held_under(jid);
  if (ids == nullptr) return nullptr;
  const std::string& wid = client_of(id).wid;
  std::size_t looked_at = 0;
  for (const JobId job_id : *ids) {
    const Job* job = store().find(job_id);
    if (job->reservation()->wid == wid) return job;
    if (++looked_at == kNamesakesMax) break;
  }
  return store().find(*ids->begin());
}

}  // namespace millrace
