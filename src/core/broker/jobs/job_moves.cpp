#include "core/broker/jobs/job_moves.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

namespace millrace {
namespace {

/// Rounded up.
std::uint32_t delay_until(Time due, Time now) {
  constexpr std::chrono::seconds kDelayMax{std::numeric_limits<std::uint32_t>::max()};
  const auto delay = std::chrono::ceil<std::chrono::seconds>(std::max(due - now, Duration{}));
  return static_cast<std::uint32_t>(std::min(delay, kDelayMax).count());
}

}  // namespace

void JobMoves::make_ready(const Job& job, JobFields fields, Time now) {
  CHECK(job.state != JobState::kReady);
  const QueueId queue = job.queue;
  const bool is_work_unit = job.kind == JobKind::kWorkUnit;
  fields.state = JobState::kReady;
  fields.when = Time{};
  fields.enqueued_at = now;
  // A pushed job enters at the end; a put one regains its old place (beanstalk protocol).
  fields.sequence = is_work_unit ? ledger_.store().totals().draw_id() : job.id;
  fields.end_reservation();
  events_.change(job, std::move(fields), now);
  // FLUSH or REMOVE may have forgotten the queue while the job was elsewhere.
  if (is_work_unit) keep_queue(ledger_.store().queues().at(queue));
  waits_.serve(queue, now);
}

void JobMoves::serve_again(const Job& job) {
  CHECK(job.state == JobState::kReady);
  if (job.kind == JobKind::kWorkUnit) keep_queue(ledger_.store().queues().at(job.queue));
  waits_.serve_later(job.queue);
}

void JobMoves::make_scheduled(const Job& job, JobFields fields, Time due, Time now) {
  CHECK(job.state == JobState::kReserved);
  fields.state = JobState::kScheduled;
  fields.when = due;
  fields.end_reservation();
  events_.change(job, std::move(fields), now);
}

void JobMoves::make_dead(const Job& job, JobFields fields, Time now) {
  fields.state = JobState::kDead;
  fields.when = ledger_.store().jobs().orders().time_of_death(now);
  fields.end_reservation();
  events_.change(job, std::move(fields), now);
}

bool JobMoves::kick(const Job& job, Time now) {
  CHECK(job.state != JobState::kReady && job.state != JobState::kReserved);
  if (!events_.may_come_back(job, now)) return false;
  JobFields fields = job.fields();
  ++fields.edit_history().tallies.kicks;
  make_ready(job, std::move(fields), now);
  return true;
}

bool JobMoves::kick_later(const Job& job, Time due, Time now) {
  CHECK(job.state != JobState::kReady && job.state != JobState::kReserved);
  if (!events_.may_come_back(job, now)) return false;
  JobFields fields = job.fields();
  ++fields.edit_history().tallies.kicks;
  fields.state = JobState::kScheduled;
  fields.when = job.is_scheduled_by_wall() ? ledger_.store().wall_clock().shown(due) : due;
  // Less than that before its end is never later than now: a replay must not take it so.
  fields.delay_s = delay_until(due, now);
  events_.change(job, std::move(fields), now);
  return true;
}

void JobMoves::release(const Job& job, Time now) {
  CHECK(job.state == JobState::kReserved);
  JobFields fields = job.fields();
  ++fields.edit_history().tallies.releases;
  make_ready(job, std::move(fields), now);
}

void JobMoves::undo_reservation(const Job& job, Time now) {
  CHECK(job.state == JobState::kReserved);
  const QueueId queue = job.queue;
  JobFields fields = job.fields();
  CHECK(fields.tallies().reserves > 0);
  // The worker never had the job: nothing of the fetch remains.
  --fields.edit_history().tallies.reserves;
  fields.state = JobState::kReady;
  fields.when = Time{};
  // The sequence and the time of entry stay: they are its place.
  fields.end_reservation();
  events_.change(job, std::move(fields), now);
  Store& store = ledger_.store();
  store.throttles().count_undone(store.queues().at(queue), job);
  waits_.serve(queue, now);
}

void JobMoves::remove(const Job& job, JobEnd end, Time now) {
  events_.remove(job, end, now);
}

void JobMoves::discard(const Job& job, JobEnd end, Time now) {
  // `cmd-delete` in the statistics of a tube. Jobs that the server removes do not count.
  ++ledger_.store().queues().at(job.queue).delete_count;
  remove(job, end, now);
}

/// One whole record, which takes the place of the job's others: after a crash it is in one of the
/// two queues.
bool JobMoves::move(const Job& job, std::string_view to, Time now) {
  CHECK(job.state != JobState::kReserved);
  Store& store = ledger_.store();
  if (store.queues().at(job.queue).name == to) return true;
  if (!store.jobs().load_body(job)) return false;
  // The job is replaced when the record is applied.
  const std::string body(job.body_view());
  const bool is_ready = job.state == JobState::kReady;
  const bool is_work_unit = job.kind == JobKind::kWorkUnit;
  JobAdded record{.id = job.id, .queue = to, .body = body, .fields = job};
  if (const Attempts* const attempts = store.jobs().attempts_of(job)) record.attempts = *attempts;
  ledger_.commit(std::move(record));
  Queue& queue = *store.queues().find(to);
  ++queue.total_jobs;
  queue.measured().enqueued.add(now);
  if (!is_ready) return true;
  if (is_work_unit) keep_queue(queue);
  waits_.serve(queue.id, now);
  return true;
}

bool JobMoves::change(const Job& job, Mutation::Action action, Time now, std::string_view to) {
  switch (action) {
    case Mutation::Action::kDiscard:
      discard(job, JobEnd::kGone, now);
      return true;
    case Mutation::Action::kKill: {
      JobFields fields = job.fields();
      ++fields.edit_history().tallies.buries;
      make_dead(job, std::move(fields), now);
      return true;
    }
    case Mutation::Action::kRequeue:
      return kick(job, now);
    case Mutation::Action::kMove:
      return move(job, to, now);
  }
  return false;
}

void JobMoves::keep_queue(const Queue& queue) {
  // Nearly always: the record is written once in a queue's life.
  if (queue.is_kept) return;
  QueueChanged record = record_of(queue);
  record.is_kept = true;
  ledger_.commit(std::move(record));
}

}  // namespace millrace
