#include "core/broker/worker_operations.hpp"

#include <algorithm>

#include "core/broker/parts.hpp"

namespace millrace {
namespace {

/// A reservation is lengthened to so long from now.
constexpr Duration kReservedMax = 24h;

}  // namespace

Answer<Done> WorkerOperations::add(ClientId client, WorkerHello hello, Time now) {
  return parts_.workers.add(client, std::move(hello), now);
}

Answer<Worker::State> WorkerOperations::beat(std::string_view wid, Worker::State asked,
                                             std::int64_t rss_kb, Time now) {
  return parts_.workers.beat(wid, asked, rss_kb, now);
}

void WorkerOperations::end(ClientId client) {
  parts_.clients.at(client).keeps_jobs = true;
}

Answer<Done> WorkerOperations::ack(ClientId id, std::string_view jid, Time now) {
  Client& client = parts_.clients.at(id);
  const std::string& wid = client.wid;
  const Reservations::Meant meant = parts_.reservations.meant_by(jid, wid);
  if (meant.overtaken != nullptr) parts_.attempts.note_ended_late(*meant.overtaken, wid);
  const Job* const job = meant.late != nullptr ? meant.late : meant.held;
  if (job == nullptr) return Refusal::kNotFound;
  const Jobs& jobs = parts_.ledger.store().jobs();
  const Time began = meant.late != nullptr ? jobs.attempts_of(*job)->list.back().began
                                           : job->reservation()->reserved_at;
  parts_.reservations.count_run(*job, RunEnd::kDone, began, now);
  client.runs.add(RunEnd::kDone, now - began, now);
  parts_.moves.discard(*job, JobEnd::kSucceeded, now);
  parts_.batch_callbacks.work(now);
  return Done{};
}

Answer<Done> WorkerOperations::fail(ClientId id, std::string_view jid, FailedRun run, Time now) {
  Client& client = parts_.clients.at(id);
  const Job* const job = parts_.reservations.meant_by(jid, client.wid).held;
  if (job == nullptr) return Refusal::kNotFound;
  if (run.end == AttemptEnd::kReleased) {
    parts_.attempts.note(*job, {.end = run.end}, now);
    parts_.moves.release(*job, now);
    return Done{};
  }
  client.runs.add(RunEnd::kFailed, now - job->reservation()->reserved_at, now);
  parts_.retries.fail(*job, std::move(run), now);
  parts_.batch_callbacks.work(now);
  return Done{};
}

const Job* WorkerOperations::meant_by(ClientId client, std::string_view jid) const {
  const Reservations::Meant meant =
      parts_.reservations.meant_by(jid, parts_.clients.at(client).wid);
  return meant.late != nullptr ? meant.late : meant.held;
}

const Job* WorkerOperations::tracked_as(std::string_view jid) const {
  return parts_.tracking.find_job(jid);
}

TrackView WorkerOperations::track(std::string_view jid) const {
  return parts_.tracking.get(jid);
}

Answer<Done> WorkerOperations::set_track(ClientId client, const TrackUpdate& update, Time now) {
  if (const auto set = parts_.tracking.set(update, now); !set || !update.reserve_until) return set;
  const std::string& wid = parts_.clients.at(client).wid;
  const Job* job = parts_.reservations.meant_by(update.jid, wid).held;
  if (job == nullptr) job = parts_.tracking.find_job(update.jid);
  if (job == nullptr || job->state != JobState::kReserved) return Done{};
  lengthen(*job, parts_.ledger.store().wall_clock().steady(*update.reserve_until), now);
  return Done{};
}

void WorkerOperations::lengthen(const Job& job, Time until, Time now) {
  until = std::min(until, now + kReservedMax);
  if (until <= job.when) return;
  JobFields fields = job.fields();
  fields.when = until;
  parts_.events.change(job, std::move(fields), now);
}

Answer<Done> WorkerOperations::undo_fetch(JobId id, Time reserved_at, Time now) {
  const Job* job = parts_.ledger.store().jobs().find(id);
  if (job == nullptr || job->state != JobState::kReserved) return Refusal::kNotFound;
  const Reservation& reservation = *job->reservation();
  // The job may have been fetched again since: that fetch stays.
  if (!reservation.is_held_by_worker() || reservation.reserved_at != reserved_at) {
    return Refusal::kNotFound;
  }
  parts_.moves.undo_reservation(*job, now);
  return Done{};
}

}  // namespace millrace
