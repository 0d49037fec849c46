#include <algorithm>

#include "core/broker/broker_state.hpp"
#include "core/broker/retry.hpp"

namespace millrace {

namespace {

/// What the failure says is more than a fourth of what else there is of the job.
bool is_text_long(const Failure& failure, std::size_t body_bytes) {
  constexpr std::size_t kShortBytes = 64;
  std::size_t bytes = failure.errtype.size() + failure.message.size();
  for (const std::string& line : failure.backtrace) bytes += line.size();
  return bytes > std::max(kShortBytes, body_bytes / 4);
}

}  // namespace

void Broker::State::keep_queue(const Queue& queue) {
  if (queue.is_kept) return;
  ledger.commit(QueueChanged{.name = queue.name,
                             .is_kept = true,
                             .paused_until = queue.paused_until,
                             .pause_s = queue.pause_s});
}

void Broker::State::make_ready(const Job& job, JobFields fields, Time now) {
  const QueueId queue = job.queue;
  const bool is_work_unit = job.kind == JobKind::kWorkUnit;
  fields.state = JobState::kReady;
  fields.when = Time{};
  fields.enqueued_at = now;
  fields.sequence = is_work_unit ? ledger.draw_id() : job.id;
  fields.reservation.reset();
  ledger.commit(JobChanged{.id = job.id, .fields = std::move(fields)});
  if (is_work_unit) keep_queue(store().queue(queue));
  serve(queue, now);
}

Time Broker::State::time_of_death(Time now) const {
  const TimeOrder& dead = ledger.store().dead();
  return dead.empty() ? now : std::max(now, dead.rbegin()->when + Duration{1});
}

void Broker::State::make_dead(const Job& job, JobFields fields, Time now) {
  fields.state = JobState::kDead;
  fields.when = time_of_death(now);
  fields.reservation.reset();
  ledger.commit(JobChanged{.id = job.id, .fields = std::move(fields)});
}

const Job& Broker::State::hold(const Job& job, Reservation reservation, Time now) {
  store().load_body(job);
  QueueMeter& meter = store().queue(job.queue).measured();
  meter.last_reserved_at = now;
  if (job.state == JobState::kReady) meter.wait.add(now - job.enqueued_at);
  reservation.reserved_at = now;
  if (reservation.is_held_by_worker()) {
    reservation.jid = format.identify(job).jid.substr(0, kJidBytesMax);
  }
  JobFields fields = Store::fields_of(job);
  fields.state = JobState::kReserved;
  fields.when = now + std::chrono::seconds(job.ttr_s);
  fields.reservation = std::move(reservation);
  ++fields.tallies.reserves;
  ledger.commit(JobChanged{.id = job.id, .fields = std::move(fields)});
  return job;
}

void Broker::State::kick(const Job& job, Time now) {
  JobFields fields = Store::fields_of(job);
  ++fields.tallies.kicks;
  make_ready(job, std::move(fields), now);
}

void Broker::State::drop(const Job& job) {
  ledger.commit(JobRemoved{.id = job.id});
}

void Broker::State::count_run(const Job& job, Time now) {
  QueueMeter& meter = store().queue(job.queue).measured();
  meter.processed.add(now);
  if (job.reservation() != nullptr) meter.run.add(now - job.reservation()->reserved_at);
}

void Broker::State::fail(const Job& job, FailedRun run, Time now) {
  store().load_body(job);
  count_run(job, now);
  store().queue(job.queue).measured().failed.add(now);
  ledger.count_processed(now);
  ledger.count_failed(now);
  std::optional<Verdict> verdict =
      judge(format.identify(job).retry, job.failure(), now, chance.draw());
  if (!verdict) {
    drop(job);
    return;
  }
  JobFields fields = Store::fields_of(job);
  fields.failure = std::move(verdict->failure);
  if (!takes_longer()) run = {};
  fields.failure->errtype = std::move(run.errtype);
  fields.failure->message = std::move(run.message);
  fields.failure->backtrace = std::move(run.backtrace);
  fields.state = verdict->state;
  fields.when = verdict->state == JobState::kDead ? time_of_death(now) : fields.failure->next_at;
  fields.reservation.reset();
  const bool is_long = is_text_long(*fields.failure, job.body_bytes);
  JobChanged change{.id = job.id, .fields = std::move(fields)};
  if (is_long) {
    ledger.commit_whole(std::move(change));
  } else {
    ledger.commit(std::move(change));
  }
}

void Broker::State::release_expired(const Job& job, Time now) {
  if (job.reservation()->is_held_by_worker()) {
    ++tally.reservations_expired;
    fail(job,
         {.errtype = "ReservationExpired",
          .message = "Faktory job reservation expired",
          .backtrace = {}},
         now);
    return;
  }
  ++tally.reservations_timed_out;
  JobFields fields = Store::fields_of(job);
  ++fields.tallies.timeouts;
  make_ready(job, std::move(fields), now);
}

}  // namespace millrace
