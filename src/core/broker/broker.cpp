#include "core/broker/broker.hpp"

#include <algorithm>

#include "core/broker/broker_state.hpp"

namespace millrace {

Broker::Broker(Ledger& ledger, const WorkUnitFormat& format, Options options)
    : state_(std::make_unique<State>(ledger, format, options)) {}

Broker::~Broker() = default;

std::uint64_t Broker::step_count() const {
  return state_->step_count;
}
const View& Broker::view() const {
  return state_->view;
}
const Ledger& Broker::ledger() const {
  return state_->ledger;
}

// ---- clients ------------------------------------------------------------------------------------

Client& Broker::State::client_of(ClientId id) {
  const auto found = clients.find(id);
  CHECK(found != clients.end());
  return found->second;
}

ClientId Broker::connect(Session& session) {
  const ClientId id = state_->next_client++;
  Client& client = state_->clients[id];
  client.id = id;
  client.session = &session;
  return id;
}

void Broker::disconnect(ClientId id, Time now) {
  State& state = *state_;
  Client& client = state.client_of(id);
  stop_waiting(id);
  Store& store = state.store();
  if (client.used) {
    --store.queue(*client.used).user_count;
    store.collect_queue(*client.used);
  }
  for (const QueueId queue : client.watched) {
    --store.queue(queue).watcher_count;
    store.collect_queue(queue);
  }
  if (const auto worker = state.workers.find(client.wid); worker != state.workers.end()) {
    worker->second.clients.erase(id);
    if (worker->second.clients.empty()) state.workers.erase(worker);
  }
  state.clients.erase(id);
  if (!state.release_held(id, now)) state.departed.push_back(id);
}

std::vector<Session*> Broker::take_woken() {
  std::vector<Session*> sessions;
  for (const ClientId id : state_->woken) {
    const auto found = state_->clients.find(id);
    if (found == state_->clients.end()) continue;
    found->second.is_woken = false;
    sessions.push_back(found->second.session);
  }
  state_->woken.clear();
  return sessions;
}

// ---- queues -------------------------------------------------------------------------------------

Answer<Done> Broker::use(ClientId id, std::string_view name) {
  if (name.size() > kQueueNameBytesMax) return Refusal::kNameTooLong;
  Client& client = state_->client_of(id);
  Store& store = state_->store();
  const QueueId queue = store.open_queue(name);
  ++store.queue(queue).user_count;
  if (client.used) {
    --store.queue(*client.used).user_count;
    store.collect_queue(*client.used);
  }
  client.used = queue;
  return Done{};
}

std::optional<std::size_t> Broker::State::place_of(const Client& client, QueueId queue) {
  constexpr std::size_t kIdsPerStep = 64;
  step_count += client.watched.size() / kIdsPerStep;
  const auto place = std::find(client.watched.begin(), client.watched.end(), queue);
  if (place == client.watched.end()) return std::nullopt;
  return place - client.watched.begin();
}

Answer<std::size_t> Broker::watch(ClientId id, std::string_view name) {
  if (name.size() > kQueueNameBytesMax) return Refusal::kNameTooLong;
  Client& client = state_->client_of(id);
  Store& store = state_->store();
  const Queue* known = store.find_queue(name);
  const bool is_watched = known != nullptr && state_->place_of(client, known->id);
  if (is_watched) return client.watched.size();
  if (client.watched.size() >= kWatchedQueuesMax) return Refusal::kTooManyQueues;
  const QueueId queue = store.open_queue(name);
  ++store.queue(queue).watcher_count;
  client.watched.push_back(queue);
  return client.watched.size();
}

Answer<std::size_t> Broker::ignore(ClientId id, std::string_view name) {
  Client& client = state_->client_of(id);
  Store& store = state_->store();
  const Queue* queue = store.find_queue(name);
  if (queue == nullptr) return client.watched.size();
  const std::optional<std::size_t> place = state_->place_of(client, queue->id);
  if (!place) return client.watched.size();
  if (client.watched.size() == 1) return Refusal::kLastQueue;
  const QueueId ignored = queue->id;
  client.watched.erase(client.watched.begin() + static_cast<std::ptrdiff_t>(*place));
  --store.queue(ignored).watcher_count;
  store.collect_queue(ignored);
  return client.watched.size();
}

Answer<Done> Broker::State::pause(std::string_view name, std::optional<std::uint32_t> seconds,
                                  Time now) {
  Queue* queue = store().find_queue(name);
  if (queue == nullptr) return Refusal::kNotFound;
  if (!takes_longer() && seconds != 0) return Refusal::kNoRoom;
  ++queue->pause_count;
  QueueChanged record{.name = queue->name, .is_kept = queue->is_kept};
  if (!seconds) {
    record.paused_until = kNever;
  } else if (*seconds > 0) {
    record.paused_until = now + std::chrono::seconds(*seconds);
    record.pause_s = *seconds;
  }
  // To say again what holds already would only make the log longer.
  if (record.paused_until == queue->paused_until) return Done{};
  const QueueId id = queue->id;
  ledger.commit(std::move(record));
  if (store().has_queue(id)) serve(id, now);
  return Done{};
}

Answer<Done> Broker::pause(std::string_view name, std::optional<std::uint32_t> seconds, Time now) {
  return state_->pause(name, seconds, now);
}

// ---- jobs ---------------------------------------------------------------------------------------

void Broker::take_on(Intake intake) {
  state_->intake = intake;
}
Intake Broker::intake() const {
  return state_->intake;
}

Answer<JobId> Broker::put(const NewJob& job, Time now) {
  if (refuses_jobs()) return Refusal::kNoRoom;
  if (job.queue.size() > kQueueNameBytesMax) return Refusal::kNameTooLong;
  CHECK(job.body.size() <= kBodyBytesMax);
  Ledger& ledger = state_->ledger;
  const bool is_due = job.due <= now;
  JobFields fields;
  fields.state = is_due ? JobState::kReady : JobState::kScheduled;
  fields.pri = job.pri;
  fields.when = is_due ? Time{} : job.due;
  fields.enqueued_at = is_due ? now : Time{};
  fields.delay_s = job.delay_s;
  fields.failure = job.failure;
  const JobId id = ledger.draw_id();
  fields.sequence = id;
  ledger.commit(JobAdded{.id = id,
                         .kind = job.kind,
                         .queue = job.queue,
                         .created_at = job.created_at.value_or(now),
                         .ttr_s = std::max<std::uint32_t>(job.ttr_s, 1),
                         .body = job.body,
                         .fields = std::move(fields)});
  Queue& queue = *state_->store().find_queue(job.queue);
  ++state_->tally.jobs_put;
  ++queue.total_jobs;
  queue.measured().enqueued.add(now);
  if (!is_due) return id;
  if (job.kind == JobKind::kWorkUnit) state_->keep_queue(queue);
  state_->serve(queue.id, now);
  return id;
}

std::optional<Delivery> Broker::reserve(ClientId id, const ReserveRequest& request, Time now) {
  State& state = *state_;
  Client& client = state.client_of(id);
  CHECK(!client.wait);
  if (const Job* job = state.choose(client, request, now)) {
    if (state.intake == Intake::kEndings) return Delivery{.kind = Delivery::Kind::kNoRoom};
    Reservation reservation{.client = request.wid ? 0 : id,
                            .wid = request.wid.value_or(""),
                            .jid = {},
                            .reserved_at = now};
    const Job& held = state.hold(*job, std::move(reservation), now);
    state.expect_next(state.store().queue(held.queue));
    return Delivery{.kind = Delivery::Kind::kJob, .job = &held};
  }
  if (!request.wid && state.deadline_soon_at(id) <= now) {
    return Delivery{.kind = Delivery::Kind::kDeadlineSoon};
  }
  if (request.wait_until <= now) return Delivery{.kind = Delivery::Kind::kTimedOut};
  state.begin_wait(client, request);
  return std::nullopt;
}

void Broker::stop_waiting(ClientId id) {
  Client& client = state_->client_of(id);
  if (client.wait) state_->end_wait(client);
}

Answer<const Job*> Broker::reserve_job(ClientId client, JobId id, Time now) {
  const Job* job = state_->store().find(id);
  if (job == nullptr || job->state == JobState::kReserved) return Refusal::kNotFound;
  if (state_->intake == Intake::kEndings) return Refusal::kNoRoom;
  return &state_->hold(*job, {.client = client, .wid = {}, .jid = {}, .reserved_at = now}, now);
}

const Job* Broker::State::held_job(ClientId client, JobId id) {
  const Job* job = store().find(id);
  const bool is_held =
      job != nullptr && job->state == JobState::kReserved && job->reservation()->client == client;
  return is_held ? job : nullptr;
}

Answer<Done> Broker::remove(ClientId client, JobId id, Time now) {
  const Job* job = state_->store().find(id);
  if (job == nullptr) return Refusal::kNotFound;
  if (job->state == JobState::kReserved) {
    if (state_->held_job(client, id) == nullptr) return Refusal::kNotFound;
    state_->ledger.count_processed(now);
    state_->count_run(*job, now);
  }
  ++state_->store().queue(job->queue).delete_count;
  state_->drop(*job);
  return Done{};
}

Answer<Done> Broker::release(ClientId client, JobId id, Pri pri, std::uint32_t delay_s, Time now) {
  const Job* job = state_->held_job(client, id);
  if (job == nullptr) return Refusal::kNotFound;
  if (delay_s != 0 && !state_->takes_longer()) return Refusal::kNoRoom;
  JobFields fields = Store::fields_of(*job);
  fields.pri = pri;
  fields.delay_s = delay_s;
  ++fields.tallies.releases;
  if (delay_s == 0) {
    state_->make_ready(*job, std::move(fields), now);
    return Done{};
  }
  fields.state = JobState::kScheduled;
  fields.when = now + std::chrono::seconds(delay_s);
  fields.reservation.reset();
  state_->ledger.commit(JobChanged{.id = id, .fields = std::move(fields)});
  return Done{};
}

Answer<Done> Broker::bury(ClientId client, JobId id, Pri pri, Time now) {
  const Job* job = state_->held_job(client, id);
  if (job == nullptr) return Refusal::kNotFound;
  if (!state_->takes_longer()) return Refusal::kNoRoom;
  JobFields fields = Store::fields_of(*job);
  fields.pri = pri;
  ++fields.tallies.buries;
  state_->make_dead(*job, std::move(fields), now);
  return Done{};
}

Answer<Done> Broker::touch(ClientId client, JobId id, Time now) {
  const Job* job = state_->held_job(client, id);
  if (job == nullptr) return Refusal::kNotFound;
  JobFields fields = Store::fields_of(*job);
  fields.when = now + std::chrono::seconds(job->ttr_s);
  state_->ledger.commit(JobChanged{.id = id, .fields = std::move(fields)});
  return Done{};
}

Answer<Done> Broker::kick_job(JobId id, Time now) {
  const Job* job = state_->store().find(id);
  if (job == nullptr) return Refusal::kNotFound;
  if (job->state == JobState::kReady || job->state == JobState::kReserved) {
    return Refusal::kNotFound;
  }
  state_->kick(*job, now);
  return Done{};
}

}  // namespace millrace
