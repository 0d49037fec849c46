#include "core/broker/jobs/reservations.hpp"

#include <utility>

#include "core/broker/queue_guard.hpp"

namespace millrace {
namespace {

/// How many jobs of one name are looked at for one that the asking worker holds.
/// Clients choose jids, so any number of jobs may share one.
constexpr std::size_t kNamesakesMax = 64;

}  // namespace

const Job& Reservations::begin(const Job& job, Client& client, std::optional<std::string> wid,
                               Time now) {
  CHECK(job.state != JobState::kReserved);
  Store& store = ledger_.store();
  // The holder is shown the body, and a worker's job is named in it.
  CHECK(store.jobs().load_body(job));
  QueueMeter& meter = store.queues().at(job.queue).measured();
  meter.last_reserved_at = now;
  // `reserve-job` also takes delayed and buried jobs, which waited for nothing.
  if (job.state == JobState::kReady) meter.wait.add(now - job.enqueued_at);
  Reservation reservation{.client = wid ? 0 : client.id,
                          .consumer = client.id,
                          .wid = {},
                          .jid = {},
                          .reserved_at = now};
  JobFields fields = job.fields();
  if (wid) {
    // In the record: ACK finds the job by it after a restart, without reading bodies.
    reservation.jid = format_.identify(job).jid.substr(0, kJidBytesMax);
    reservation.wid = *std::move(wid);
    if (!std::exchange(client.has_taken, true)) gone_.note_taker(reservation.wid);
    if (client.worker_beats) fields.marks |= job_marks::kHolderBeats;
  }
  fields.state = JobState::kReserved;
  fields.when = now + std::chrono::seconds(job.ttr_s);
  fields.edit_history().reservation = std::move(reservation);
  ++fields.edit_history().tallies.reserves;
  events_.change(job, std::move(fields), now);
  DCHECK(job.state == JobState::kReserved && job.reservation() != nullptr);
  Queue& queue = store.queues().at(job.queue);
  if (store.throttles().limits(queue)) store.throttles().count_begun(queue, job, now);
  return job;
}

const Job& Reservations::begin_next(const Job& job, Client& client, std::optional<std::string> wid,
                                    Time now) {
  begin(job, client, std::move(wid), now);
  expect_next(ledger_.store().queues().at(job.queue));
  return job;
}

/// The queue's next jobs will soon be wanted, and some of their bodies may be on the disk only.
/// Looked at once for several jobs, which costs about as much as for one.
void Reservations::expect_next(Queue& queue) {
  constexpr std::uint32_t kAheadJobs = 64;
  Store& store = ledger_.store();
  if (store.jobs().bodies().spilled_count() == 0) return;
  if (queue.taken_count++ % (kAheadJobs / 2) != 0) return;
  std::uint32_t count = 0;
  for (const ReadyEntry& entry : queue.ready) {
    if (count++ == kAheadJobs) return;
    store.jobs().bodies().expect(store.jobs().at(entry.slot));
  }
}

/// The first job may have to wait for its type or its key.
std::optional<ReadyEntry> Reservations::next_in_line(Queue& queue, Time now) {
  Store& store = ledger_.store();
  const QueueId id = queue.id;
  {
    // The queue is used after its last job is gone.
    const QueueGuard guard(queue);
    const auto with_body = [&jobs = store.jobs()](JobSlot slot) -> const Job& {
      return jobs.with_body(slot);
    };
    for (std::size_t removed = 0; removed < ExpiredJobs::kFrontMax; ++removed) {
      if (queue.ready.empty()) break;
      const std::optional<ReadyEntry> entry = store.throttles().next(queue, with_body, now);
      if (!entry || !expired_.remove_expired(store.jobs().at(entry->slot), now)) return entry;
    }
  }
  store.queues().collect(id);
  return std::nullopt;
}

/// There is a job, and it may be handed out. Inlined: a worker may name a hundred queues in each
/// FETCH, and most of them are empty or full.
[[gnu::always_inline]] inline std::optional<ReadyEntry> Reservations::next_for(Queue& queue,
                                                                               std::string_view wid,
                                                                               ClientId client,
                                                                               Time now) {
  if (queue.ready.empty() || queue.is_paused(now)) return std::nullopt;
  if (const Throttle* const throttle = queue.throttle; throttle != nullptr) {
    if (!throttle->has_room(now)) return std::nullopt;
    if (!ledger_.store().throttles().admits(*throttle, wid, client)) return std::nullopt;
  }
  return next(queue, now);
}

void Reservations::look_up(const ReserveRequest& request) const {
  Queues& queues = ledger_.store().queues();
  KnownQueues& known = *request.known;
  if (known.as_of == queues.changes()) return;
  known.as_of = queues.changes();
  known.ids.clear();
  for (const std::string_view name : request.queues) {
    const Queue* const queue = queues.find(name);
    known.ids.push_back(queue == nullptr ? kNoSlot : queue->id);
  }
}

const Job* Reservations::choose(const Client& client, const ReserveRequest& request, Time now) {
  Store& store = ledger_.store();
  const std::string_view wid = request.wid ? std::string_view(*request.wid) : std::string_view();
  if (request.choice == ReserveRequest::Choice::kFirstListed) {
    step_count_ += request.queues.size();
    if (request.known != nullptr) {
      look_up(request);
      for (const QueueId id : request.known->ids) {
        // One may have gone with its last job, which had expired.
        if (id == kNoSlot || !store.queues().has(id)) continue;
        const auto entry = next_for(store.queues().at(id), wid, client.id, now);
        if (entry) return &store.jobs().at(entry->slot);
      }
      return nullptr;
    }
    for (const std::string_view name : request.queues) {
      Queue* queue = store.queues().find(name);
      if (queue == nullptr) continue;
      if (const auto entry = next_for(*queue, wid, client.id, now)) {
        return &store.jobs().at(entry->slot);
      }
    }
    return nullptr;
  }
  // Each watched queue is touched. Ten thousand of them for each of many reserves would block
  // others.
  step_count_ += client.watched.size();
  std::optional<ReadyEntry> best;
  for (const QueueId id : client.watched) {
    const auto entry = next_for(store.queues().at(id), wid, client.id, now);
    // By priority, then by sequence over all watched tubes, as beanstalkd.
    if (entry && (!best || *entry < *best)) best = entry;
  }
  return best ? &store.jobs().at(best->slot) : nullptr;
}

const Job* Reservations::held_by_connection(ClientId client, JobId id) const {
  const Job* job = ledger_.store().jobs().find(id);
  if (job == nullptr || job->state != JobState::kReserved) return nullptr;
  CHECK(job->reservation() != nullptr);
  return job->reservation()->client == client ? job : nullptr;
}

Reservations::Meant Reservations::meant_by(std::string_view jid, std::string_view wid) const {
  const Store& store = ledger_.store();
  const JobOrders::JobIds* const ids = store.jobs().orders().held_under(jid);
  const Job* overtaken = nullptr;
  std::size_t looked_at = 0;
  if (ids != nullptr) {
    for (const JobId id : *ids) {
      const Job* const job = store.jobs().find(id);
      CHECK(job != nullptr && job->reservation() != nullptr);
      if (job->reservation()->wid == wid) return {.held = job};
      const Attempts* const attempts = store.jobs().attempts_of(*job);
      if (attempts != nullptr && attempts->was_taken_from(wid)) overtaken = job;
      if (++looked_at == kNamesakesMax) break;
    }
  }
  if (const Job* const late = late_run(jid, wid)) return {.late = late};
  if (overtaken != nullptr) return {.overtaken = overtaken};
  // The run that it means is over: the report came twice, or the job was taken away.
  if (ids == nullptr || gone_.is_taker(wid)) return {};
  return {.held = store.jobs().find(*ids->begin())};
}

const Job* Reservations::late_run(std::string_view jid, std::string_view wid) const {
  // Nothing tells one client without a name from another.
  if (wid.empty()) return nullptr;
  const Jobs& jobs = ledger_.store().jobs();
  for (const JobSlot slot : jobs.names().candidates(format_.hash_of_name(jid), kNamesakesMax)) {
    const Job& job = jobs.at(slot);
    const Attempts* const attempts = jobs.attempts_of(job);
    if (job.state == JobState::kReserved || attempts == nullptr) continue;
    if (!attempts->was_last_taken_from(wid)) continue;
    if (jobs.load_body(job) && format_.identify(job).jid == jid) return &job;
  }
  return nullptr;
}

Time Reservations::deadline_soon_at(ClientId client) const {
  const TimeOrder* held = ledger_.store().jobs().orders().held_by(client);
  return held == nullptr ? kNever : held->begin()->when - kSafetyMargin;
}

void Reservations::count_run(const Job& job, RunEnd end, Time began, Time now) {
  // Failed runs count as processed too (Faktory).
  ledger_.count_processed(now);
  Queue& queue = ledger_.store().queues().at(job.queue);
  QueueMeter& meter = queue.measured();
  meter.processed.add(now);
  const Duration took = now - began;
  meter.run.add(took);
  types_.note_run(job, end, took, now);
  if (end == RunEnd::kFailed) {
    ledger_.count_failed(now);
    meter.failed.add(now);
  }
  if (watch_ != nullptr) watch_->on_run_ended(job, queue, took);
}

}  // namespace millrace
