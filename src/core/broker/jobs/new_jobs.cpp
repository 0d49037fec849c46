#include "core/broker/jobs/new_jobs.hpp"

#include <algorithm>

#include "base/member_count.hpp"

namespace millrace {
namespace {

/// As steady time.
Time due_of(const NewJob& job, WallClock clock) {
  return job.kind == JobKind::kWorkUnit ? clock.steady(job.due) : job.due;
}

static_assert(kMemberCount<NewJob> == 13, "put the new member of NewJob into the stored form");

StoredJob stored_form_of(const NewJob& job, bool is_due, Time now) {
  StoredJob fields;
  fields.kind = job.kind;
  // As beanstalkd: a job with 0 seconds would expire before its worker has it.
  fields.ttr_s = std::max<std::uint32_t>(job.ttr_s, 1);
  fields.created_at = job.created_at.value_or(now);
  fields.state = is_due ? JobState::kReady : JobState::kScheduled;
  fields.pri = job.pri;
  fields.when = is_due ? Time{} : job.due;
  fields.enqueued_at = is_due ? now : Time{};
  fields.delay_s = job.delay_s;
  if (job.features) fields.features = *job.features;
  if (job.failure) fields.edit_history().failure = *job.failure;
  return fields;
}

bool has_expired(const NewJob& job, Time wall) {
  return job.features && job.features->expires() && job.features->expires_at <= wall;
}

}  // namespace

JobId NewJobs::add(const NewJob& job, Time now, std::uint32_t name_hash) {
  Ledger& ledger = parts_.ledger;
  const bool is_due = due_of(job, ledger.store().wall_clock()) <= now;
  StoredJob fields = stored_form_of(job, is_due, now);
  const JobId id = ledger.store().totals().draw_id();
  // So put jobs of one priority are served in the order of their ids, and are put back there.
  fields.sequence = id;
  if (job.long_body != nullptr) ledger.take_over(*job.long_body);
  parts_.events.add(JobAdded{.id = id,
                             .queue = job.queue,
                             .body = job.body,
                             .fields = std::move(fields),
                             .name_hash = name_hash},
                    now);
  // Only now: applying the record may have made the queue.
  Queue* const found = ledger.store().queues().find(job.queue);
  CHECK(found != nullptr);
  Queue& queue = *found;
  ++parts_.tally.jobs_put;
  ++queue.total_jobs;
  queue.measured().enqueued.add(now);
  if (!is_due) return id;
  // Faktory's queues stay when they are empty; tubes do not.
  if (job.kind == JobKind::kWorkUnit) parts_.moves.keep_queue(queue);
  if (has_expired(job, ledger.store().wall_clock().shown(now))) {
    // Served at once, it would be gone for whoever pushed it.
    parts_.waits.serve_later(queue.id);
  } else {
    parts_.waits.serve(queue.id, now);
  }
  return id;
}

}  // namespace millrace
