#include "core/broker/jobs/job_events.hpp"

#include <algorithm>
#include <utility>

namespace millrace {
namespace {

void set_mark(JobFields& fields, std::uint8_t mark) {
  fields.marks |= mark;
}

void clear_mark(JobFields& fields, std::uint8_t mark) {
  fields.marks &= static_cast<std::uint8_t>(~mark);
}

/// Times beyond what fits are never reached.
Duration as_duration(double seconds) {
  constexpr double kMost = 9e9;
  if (seconds >= kMost) return Duration::max();
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

/// A run has ended badly, or the job was given up.
bool has_failed(const Job& job, const JobFields& fields) {
  if (fields.state == JobState::kDead) return true;
  return job.state == JobState::kReserved && fields.state == JobState::kRetrying;
}

/// Numbers come from the log, which may be damaged.
void take_one(std::uint32_t& count) {
  if (count > 0) --count;
}

/// An open batch is in use.
void touch(JobBatchFields& batch, Time now) {
  if (!batch.has(JobBatchFields::kCommitted)) batch.since = now;
}

/// The member is there no more.
void leave(const Job& job, JobBatchFields& batch) {
  take_one(batch.pending);
  if (!job.has_mark(job_marks::kHasRun)) take_one(batch.unexecuted);
  if (job.has_mark(job_marks::kHasFailed)) take_one(batch.failing);
}

void end_callback(const Job& job, JobEnd end, JobBatchFields& batch) {
  const BatchRole role = job.features->batch_role();
  if (batch.callback_job(role) != job.id) return;
  const bool has_succeeded = end == JobEnd::kSucceeded;
  batch.set_callback(role, has_succeeded ? CallbackState::kSucceeded : CallbackState::kGone);
}

}  // namespace

bool JobEvents::is_free(const LockKey& key, Time wall) const {
  const Jobs& jobs = ledger_.store().jobs();
  const auto holder = jobs.locks().holder(key);
  return !holder || jobs.at(*holder).lends_lock() || jobs.at(*holder).lock_ends() <= wall;
}

Answer<Done> JobEvents::admit(const JobFeatures& features, Time now) const {
  if (features.batch != 0 && ledger_.store().batches().find(features.batch) == nullptr) {
    return Refusal::kNoSuchBatch;
  }
  if (features.wants_lock() && !is_free(features.lock_key, wall(now))) return Refusal::kNotUnique;
  return Done{};
}

void JobEvents::begin(JobAdded& record, Time now) {
  const JobFeatures& features = *record.fields.features;
  if (features.wants_lock()) {
    take_lock(features, record.fields);
    ++tally_.locks_taken;
  }
  if (!features.is_member()) return;
  ledger_.store().batches().edit(features.batch, [now](JobBatchFields& batch) {
    ++batch.total;
    ++batch.pending;
    ++batch.unexecuted;
    touch(batch, now);
  });
}

void JobEvents::change_whole(const Job& job, JobFields fields, Time now) {
  if (job.features) follow(job, fields, now);
  ledger_.commit_whole(JobChanged{.id = job.id, .fields = std::move(fields)});
}

/// The lock goes with the job.
void JobEvents::end(const Job& job, JobEnd end, Time now) {
  if (job.features->is_tracked) tracking_.end(job, end, now);
  if (job.features->batch == 0) return;
  ledger_.store().batches().edit(job.features->batch, [&job, end](JobBatchFields& batch) {
    if (job.features->is_callback()) return end_callback(job, end, batch);
    leave(job, batch);
    if (end == JobEnd::kSucceeded) return;
    ++batch.lost;
    batch.set(JobBatchFields::kHasDeath, true);
  });
}

/// The entry has a record already, which becomes a few bytes longer.
void JobEvents::note_cron_run(const CronEntry& entry, const Job& job, JobEnd end, Time now) {
  if (!admission_.admits_growth()) return;
  CronChanged record = record_of(entry);
  const auto run = std::ranges::find(record.runs, job.id, &CronRun::job);
  CHECK(run != record.runs.end());
  const Reservation* const held = job.reservation();
  const Attempts* const attempts = ledger_.store().jobs().attempts_of(job);
  // A run that had been taken from its worker is acknowledged after all.
  const bool is_late = held == nullptr && attempts != nullptr && end == JobEnd::kSucceeded;
  run->end = CronRunEnd{.how = end == JobEnd::kFlushed ? JobEnd::kGone : end,
                        .began_at = held != nullptr ? wall(held->reserved_at)
                                    : is_late       ? wall(attempts->list.back().began)
                                                    : Time{},
                        .ended_at = wall(now)};
  ledger_.commit(std::move(record));
}

void JobEvents::follow(const Job& job, JobFields& fields, Time now) {
  if (job.features->wants_lock()) follow_lock(job, fields, now);
  if (job.features->is_member() && has_failed(job, fields)) follow_batch(job, fields);
}

void JobEvents::follow_body(const Job& job, JobFields& fields, Time now) const {
  if (fields.state == JobState::kDead) return;
  const bool has_body = fields.state == JobState::kReserved
                            ? job.has_body()
                            : ledger_.store().jobs().reload_body(job);
  if (has_body) return clear_mark(fields, job_marks::kBodyUnreadable);
  if (fields.state != JobState::kReserved) bury(fields, now);
}

void JobEvents::bury(JobFields& fields, Time now) const {
  ++fields.edit_history().tallies.buries;
  fields.state = JobState::kDead;
  fields.when = ledger_.store().jobs().orders().time_of_death(now);
  fields.end_reservation();
}

void JobEvents::follow_batch(const Job& job, JobFields& fields) {
  set_mark(fields, job_marks::kHasRun | job_marks::kHasFailed);
  ledger_.store().batches().edit(job.features->batch, [&](JobBatchFields& batch) {
    if (!job.has_mark(job_marks::kHasRun)) take_one(batch.unexecuted);
    if (!job.has_mark(job_marks::kHasFailed)) ++batch.failing;
    if (fields.state == JobState::kDead) batch.set(JobBatchFields::kHasDeath, true);
  });
}

/// The lock is free: nobody has it, or somebody whose time is over, or who lends it.
void JobEvents::take_lock(const JobFeatures& features, JobFields& fields) {
  const Jobs& jobs = ledger_.store().jobs();
  if (const auto former = jobs.locks().holder(features.lock_key)) {
    lose_lock(jobs.at(*former), jobs.at(*former).fields());
  }
  set_mark(fields, job_marks::kHoldsLock);
}

/// Recorded for itself: what is written of the new holder may leave the log before this job does.
void JobEvents::lose_lock(const Job& job, JobFields fields) {
  clear_mark(fields, job_marks::kHoldsLock);
  JobChanged record{.id = job.id, .fields = std::move(fields)};
  record.fields.is_held_by_connection() ? ledger_.commit_held(std::move(record))
                                        : ledger_.commit(std::move(record));
}

void JobEvents::free_lock(const Job& job, Time now) {
  JobFields fields = job.fields();
  fields.edit_history().lock_ends = wall(now);
  lose_lock(job, std::move(fields));
}

/// By the wall clock. As for a job that is pushed with a time, its lock lasts from there.
Time JobEvents::first_run(const Job& job, const JobFields& fields, Time wall) const {
  if (fields.state != JobState::kScheduled) return wall;
  return job.is_scheduled_by_wall() ? fields.when : ledger_.store().wall_clock().shown(fields.when);
}

void JobEvents::follow_lock(const Job& job, JobFields& fields, Time now) {
  const JobFeatures& features = *job.features;
  const bool has_run = job.state == JobState::kReserved && fields.state == JobState::kRetrying;
  if (fields.state == JobState::kDead || (has_run && features.locks_until_start)) {
    return clear_mark(fields, job_marks::kHoldsLock);
  }
  if (fields.has_mark(job_marks::kHoldsLock) || !is_free(features.lock_key, wall(now))) return;
  // Somebody wants a dead job after all.
  if (job.state == JobState::kDead) {
    const Time begins = first_run(job, fields, wall(now));
    fields.edit_history().lock_ends = moved_by(begins, as_duration(features.lock_seconds));
    return take_lock(features, fields);
  }
  // It was not run after all, and whoever took its lock meanwhile has it no more.
  const bool is_back = job.state == JobState::kReserved &&
                       (fields.state == JobState::kReady || fields.state == JobState::kScheduled);
  if (is_back && features.locks_until_start && job.lock_ends() > wall(now)) {
    take_lock(features, fields);
  }
}

}  // namespace millrace
