#include "core/broker/broker.hpp"

#include <algorithm>

#include "core/broker/parts.hpp"

namespace millrace {

Broker::Broker(Ledger& ledger, const WorkUnitFormat& format, Options options)
    : parts_(std::make_unique<BrokerParts>(ledger, format, options)),
      connections_(*parts_),
      workers_(*parts_),
      admin_(*parts_),
      batches_(*parts_, options.random_seed),
      lock_secret_(options.lock_secret) {
  ledger.store().read_names_by(format);
  ledger.store().finished().begin(format, options.finished);
  ledger.store().throttles().read_types_by(format);
}

Broker::~Broker() = default;

const View& Broker::view() const {
  return parts_->view;
}
const Ledger& Broker::ledger() const {
  return parts_->ledger;
}

CronRuns& Broker::cron() {
  return parts_->cron;
}

// ---- connections --------------------------------------------------------------------------------

ClientId Broker::connect(Session& session) {
  return parts_->clients.add(session);
}

void Broker::disconnect(ClientId id, Time now) {
  stop_waiting(id);
  parts_->workers.remove(parts_->clients.at(id), now);
  parts_->clients.remove(id);
  // Last: these jobs may be handed out at once, and not to this client.
  parts_->expiry.depart(id, now);
}

std::vector<Session*> Broker::take_woken() {
  return parts_->clients.take_woken();
}

void Broker::wake(ClientId client) {
  parts_->clients.wake(parts_->clients.at(client));
}

// ---- jobs ---------------------------------------------------------------------------------------

Answer<JobId> Broker::put(const NewJob& job, Time now, std::string_view worker) {
  const std::uint32_t name_hash = parts_->push_once.hash_of(job);
  if (const std::optional<JobId> same = parts_->push_once.find(job, name_hash, worker, now)) {
    ++parts_->tally.pushes_repeated;
    return *same;
  }
  if (refuses_jobs()) return Refusal::kNoRoom;
  if (job.queue.size() > kQueueNameBytesMax) return Refusal::kNameTooLong;
  CHECK(job.body.size() <= kBodyBytesMax);
  if (job.features) {
    if (const auto admitted = parts_->events.admit(*job.features, now); !admitted) {
      if (admitted.error() != Refusal::kNotUnique) return admitted.error();
      ++parts_->tally.locks_denied;
      if (job.conflict != UniqueConflict::kAccept) return Refusal::kNotUnique;
      return view().jobs().find_lock_holder(job.features->lock_key)->id;
    }
  }
  if (job.is_lock_without_time) ++parts_->tally.locks_without_time;
  Ledger& ledger = parts_->ledger;
  if (job.features && job.features->wants_lock() && !ledger.store().lock_secret().get()) {
    ledger.commit(LockSecretDrawn{.secret = lock_secret_});
  }
  const JobId id = parts_->new_jobs.add(job, now, name_hash);
  parts_->batch_callbacks.work(now);
  return id;
}

LockSecret Broker::lock_secret() const {
  return parts_->ledger.store().lock_secret().get().value_or(lock_secret_);
}

std::optional<Delivery> Broker::reserve(ClientId id, const ReserveRequest& request, Time now) {
  Client& client = parts_->clients.at(id);
  CHECK(!client.wait);
  parts_->clients.mark_taker(client);
  if (!request.queues.empty()) parts_->workers.note_fetch(client, request.queues, now);
  // Those that wait already come first: a slot that has become free is theirs, for example.
  if (parts_->slots.next_due() <= now) parts_->slots.work(now);
  parts_->waits.serve_unserved(now);
  // A job comes before DEADLINE_SOON, as in beanstalkd.
  for (std::size_t tries = 0; const Job* const next = choose(client, request, now); ++tries) {
    // Only when there is a job: a client that would wait anyway need not know of the full disk.
    if (!parts_->admission.admits_reservations()) {
      return Delivery{.kind = Delivery::Kind::kNoRoom};
    }
    if (parts_->unreadable.can_run(*next, now)) {
      const Job& job = parts_->reservations.begin_next(*next, client, request.wid, now);
      return Delivery{.kind = Delivery::Kind::kJob, .job = &job};
    }
    // Each look waits for a disk.
    if (tries < kUnreadableInARow) continue;
    parts_->waits.serve_later(next->queue);
    break;
  }
  // A worker's jobs are not held by the connection, and no deadline of theirs concerns it.
  if (!request.wid && parts_->reservations.deadline_soon_at(id) <= now) {
    return Delivery{.kind = Delivery::Kind::kDeadlineSoon};
  }
  if (request.wait_until <= now) return Delivery{.kind = Delivery::Kind::kTimedOut};
  parts_->waits.begin(client, request);
  return std::nullopt;
}

const Job* Broker::choose(const Client& client, const ReserveRequest& request, Time now) {
  const Job* const next = parts_->reservations.choose(client, request, now);
  if (!parts_->batch_callbacks.has_work()) return next;
  // Expired members were removed, or one died, and what that made due may be the job to choose.
  parts_->batch_callbacks.work(now);
  return parts_->reservations.choose(client, request, now);
}

void Broker::stop_waiting(ClientId id) {
  Client& client = parts_->clients.at(id);
  if (client.wait) parts_->waits.end(client);
}

// ---- room ---------------------------------------------------------------------------------------

void Broker::set_admission(Admission admission) {
  parts_->admission.set(admission);
}
Admission Broker::admission() const {
  return parts_->admission.level();
}

// ---- observation --------------------------------------------------------------------------------

Activity& Broker::activity() {
  return parts_->activity;
}

const TypeMeters& Broker::types() const {
  return parts_->types;
}

void Broker::watch_runs(RunWatch* watch) {
  parts_->reservations.watch_runs(watch);
}

void Broker::watch_failures(FailureWatch* watch) {
  parts_->retries.watch_failures(watch);
  parts_->followed.watch_failures(watch);
}

Outcome<Done> Broker::follow(std::string_view batch, Lsn begin, Time now) {
  return parts_->followed.replay(batch, begin, now);
}

void Broker::watch_losses(LossWatch* watch) {
  parts_->lost_jobs.watch(watch);
  parts_->unreadable.watch(watch);
}

// ---- time ---------------------------------------------------------------------------------------

void Broker::set_wall_clock(WallClock clock) {
  parts_->ledger.store().set_wall_clock(clock);
}

Time Broker::tick(Time now) {
  BrokerParts& parts = *parts_;
  parts.expiry.release_departed(now);
  parts.unreadable.work(now);
  parts.unreadable.read_again(now, [&parts](const Job& job) { parts.moves.serve_again(job); });
  parts.expired.remove_due(now, [&parts](QueueId queue) { parts.waits.serve_later(queue); });
  parts.schedule.enqueue_due(now);
  parts.expiry.end_due(now);
  parts.lost_jobs.work(now);
  parts.pauses.end_due(now);
  parts.slots.work(now);
  parts.waits.serve_unserved(now);
  // After everything above, which can bring a job to a client whose time is over at this moment.
  parts.waits.end_due(now);
  parts.long_tasks.work(now);
  parts.dead_set.purge(now);
  parts.tracking.remove_due(now);
  parts.push_once.forget_due(now);
  parts.workers.reap(now);
  parts.batch_lives.end_due(now);
  parts.activity.work(now);
  // Last: everything above may have ended members.
  parts.batch_callbacks.work(now);
  return std::min({parts.unreadable.next_due(), parts.expired.next_due(), parts.schedule.next_due(),
                   parts.expiry.next_due(), parts.lost_jobs.next_due(), parts.pauses.next_due(),
                   parts.waits.next_due(), parts.long_tasks.next_due(), parts.dead_set.next_due(),
                   parts.tracking.next_due(), parts.push_once.next_due(), parts.workers.next_due(),
                   parts.slots.next_due(), parts.batch_lives.next_due(), parts.activity.next_due(),
                   parts.batch_callbacks.next_due()});
}

void Broker::see_to_missing_bodies(Time now) {
  parts_->unreadable.work(now);
}

std::uint64_t Broker::step_count() const {
  return parts_->clients.step_count() + parts_->waits.step_count() +
         parts_->reservations.step_count();
}

}  // namespace millrace
