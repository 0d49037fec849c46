#include "core/broker/connection_operations.hpp"

#include <utility>

#include "core/broker/parts.hpp"

namespace millrace {

Answer<Done> ConnectionOperations::use(ClientId client, std::string_view queue) {
  return parts_.clients.use(client, queue);
}
Answer<std::size_t> ConnectionOperations::watch(ClientId client, std::string_view queue) {
  return parts_.clients.watch(client, queue);
}
Answer<std::size_t> ConnectionOperations::ignore(ClientId client, std::string_view queue) {
  return parts_.clients.ignore(client, queue);
}

// ---- jobs ---------------------------------------------------------------------------------------

Answer<const Job*> ConnectionOperations::reserve_job(ClientId client, JobId id, Time now) {
  const Job* job = parts_.ledger.store().jobs().find(id);
  if (job == nullptr || job->state == JobState::kReserved) return Refusal::kNotFound;
  if (job->state != JobState::kDead &&
      job->has_expired(parts_.ledger.store().wall_clock().shown(now))) {
    return Refusal::kNotFound;
  }
  if (!parts_.events.may_come_back(*job, now)) return Refusal::kNotFound;
  if (!parts_.admission.admits_reservations()) return Refusal::kNoRoom;
  if (!parts_.unreadable.can_run(*job, now)) return Refusal::kNotFound;
  return &parts_.reservations.begin(*job, parts_.clients.at(client), std::nullopt, now);
}

Answer<Done> ConnectionOperations::remove(ClientId client, JobId id, Time now) {
  const Job* job = parts_.ledger.store().jobs().find(id);
  if (job == nullptr) return Refusal::kNotFound;
  const bool is_held = job->state == JobState::kReserved;
  if (is_held) {
    // For the others a held job does not exist (beanstalk protocol).
    if (job->reservation()->client != client) return Refusal::kNotFound;
    parts_.reservations.count_run(*job, RunEnd::kDone, job->reservation()->reserved_at, now);
  }
  parts_.moves.discard(*job, is_held ? JobEnd::kSucceeded : JobEnd::kGone, now);
  parts_.batch_callbacks.work(now);
  return Done{};
}

Answer<Done> ConnectionOperations::release(ClientId client, JobId id, Pri pri,
                                           std::uint32_t delay_s, Time now) {
  const Job* job = parts_.reservations.held_by_connection(client, id);
  if (job == nullptr) return Refusal::kNotFound;
  // A ready job needs no more room than a reserved one. A delayed one has a time to store.
  if (delay_s != 0 && !parts_.admission.admits_growth()) return Refusal::kNoRoom;
  JobFields fields = job->fields();
  fields.pri = pri;
  fields.delay_s = delay_s;
  ++fields.edit_history().tallies.releases;
  if (delay_s == 0) {
    parts_.moves.make_ready(*job, std::move(fields), now);
  } else {
    parts_.moves.make_scheduled(*job, std::move(fields), now + std::chrono::seconds(delay_s), now);
  }
  return Done{};
}

Answer<Done> ConnectionOperations::bury(ClientId client, JobId id, Pri pri, Time now) {
  const Job* job = parts_.reservations.held_by_connection(client, id);
  if (job == nullptr) return Refusal::kNotFound;
  if (!parts_.admission.admits_growth()) return Refusal::kNoRoom;
  JobFields fields = job->fields();
  fields.pri = pri;
  ++fields.edit_history().tallies.buries;
  parts_.moves.make_dead(*job, std::move(fields), now);
  parts_.batch_callbacks.work(now);
  return Done{};
}

Answer<Done> ConnectionOperations::touch(ClientId client, JobId id, Time now) {
  const Job* job = parts_.reservations.held_by_connection(client, id);
  if (job == nullptr) return Refusal::kNotFound;
  JobFields fields = job->fields();
  fields.when = now + std::chrono::seconds(job->ttr_s);
  parts_.events.change(*job, std::move(fields), now);
  return Done{};
}

std::optional<std::uint64_t> ConnectionOperations::kick(ClientId id, std::uint64_t bound,
                                                        Time now) {
  const Client& client = parts_.clients.at(id);
  CHECK(client.used);
  const Queue& queue = parts_.ledger.store().queues().at(*client.used);
  return parts_.long_tasks.start(id, KickTask(queue, bound), now);
}

Answer<Done> ConnectionOperations::kick_job(JobId id, Time now) {
  const Job* job = parts_.ledger.store().jobs().find(id);
  if (job == nullptr) return Refusal::kNotFound;
  if (job->state == JobState::kReady || job->state == JobState::kReserved) {
    return Refusal::kNotFound;
  }
  if (!parts_.moves.kick(*job, now)) return Refusal::kNotFound;
  return Done{};
}

}  // namespace millrace
