#include "core/broker/tasks/flush_task.hpp"

namespace millrace {

// There is a step for each.
static_assert(Store::are_flushed<JobBatches, Jobs, Tracks, EndedPushes, Queues>());

FlushTask::FlushTask(const Ledger& ledger)
    : id_end(ledger.store().totals().now().next_id),
      queue_end(ledger.store().queues().next_creation()) {}

bool FlushTask::work(TaskContext& context, Time now) {
  std::size_t steps = 0;
  remove_batches(context, steps);
  remove_jobs(context, steps, now);
  if (next_slot < context.ledger.store().jobs().slot_end()) return false;
  if (!jobs_gone_at) jobs_gone_at = now;
  return remove_tracks(context, steps, now) && forget_pushes(context, steps, now) &&
         forget_queues(context, steps);
}

/// Before the jobs, whose end would make callbacks due. The oldest first: so a parent is gone
/// before its children, and need not be told of them.
void FlushTask::remove_batches(TaskContext& context, std::size_t& steps) const {
  const JobBatches& batches = context.ledger.store().batches();
  for (; steps < kSliceJobs; ++steps) {
    const auto first = batches.by_creation().begin();
    if (first == batches.by_creation().end()) return;
    const JobBatch& batch = batches.at(*first);
    if (batch.sequence >= id_end) return;
    context.ledger.commit(JobBatchRemoved{.id = batch.id});
  }
}

/// By slot, and not in an order that jobs may enter at any place: so jobs that come meanwhile hide
/// none and do not prolong the task.
void FlushTask::remove_jobs(TaskContext& context, std::size_t& steps, Time now) {
  const Store& store = context.ledger.store();
  const JobSlot end = store.jobs().slot_end();
  for (; next_slot < end && steps < kSliceJobs; ++next_slot, ++steps) {
    const Job* job = store.jobs().in_slot(next_slot);
    // A slot may hold a younger job by now.
    if (job == nullptr || job->id >= id_end) continue;
    steps += context.moves.steps_to_remove(*job, JobEnd::kFlushed) - 1;
    // Reserved jobs too: their runs end without effect.
    context.moves.remove(*job, JobEnd::kFlushed, now);
    ++changed;
  }
}

/// Not before the jobs: a client may have told of a job meanwhile, and no track may be left of a
/// job that is gone.
bool FlushTask::remove_tracks(TaskContext& context, std::size_t& steps, Time now) {
  const Tracks& tracks = context.ledger.store().tracks();
  for (; next_track < tracks.slot_end() && steps < kSliceJobs; ++next_track, ++steps) {
    const Track* const track = tracks.in_slot(next_track);
    if (track == nullptr || is_younger(track->updated_at, now)) continue;
    context.ledger.commit(TrackRemoved{.jid = track->jid});
  }
  return next_track >= tracks.slot_end();
}

/// Not before the jobs: some may have ended meanwhile, and no push may be known of a job that is
/// gone.
bool FlushTask::forget_pushes(TaskContext& context, std::size_t& steps, Time now) {
  const EndedPushes& pushes = context.ledger.store().ended_pushes();
  for (; next_push < pushes.slot_end() && steps < kSliceJobs; ++next_push, ++steps) {
    const PushEnded* const push = pushes.in_slot(next_push);
    if (push == nullptr || is_younger(push->ended_at, now)) continue;
    context.ledger.commit(PushForgotten{.key = push->key});
  }
  return next_push >= pushes.slot_end();
}

bool FlushTask::forget_queues(TaskContext& context, std::size_t& steps) {
  const Store& store = context.ledger.store();
  for (; steps < kSliceJobs; ++steps) {
    const auto place = store.queues().by_creation().lower_bound(next_queue);
    if (place == store.queues().by_creation().end() || place->first >= queue_end) return true;
    next_queue = place->first + 1;
    const Queue& queue = store.queues().at(place->second);
    if (!queue.is_kept && queue.paused_until == Time{}) continue;
    // A queue that holds a job by now was pushed to meanwhile.
    context.ledger.commit(
        QueueChanged{.name = queue.name, .is_kept = queue.is_kept && queue.job_count() > 0});
  }
  return false;
}

}  // namespace millrace
