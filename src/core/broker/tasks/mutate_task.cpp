#include "core/broker/tasks/mutate_task.hpp"

namespace millrace {
namespace {

const TimeOrder& order_of_set(const Store& store, JobState set) {
  CHECK(set == JobState::kScheduled || set == JobState::kRetrying || set == JobState::kDead);
  if (set == JobState::kScheduled) return store.orders().scheduled();
  return set == JobState::kRetrying ? store.orders().retrying() : store.orders().dead();
}

}  // namespace

MutateTask::MutateTask(const Ledger& ledger, Mutation given)
    : mutation(std::move(given)), id_end(ledger.counters().next_id) {
  const TimeOrder& order = order_of_set(ledger.store(), mutation.set);
  if (!order.empty()) last = *order.rbegin();
}

/// From entry to entry, up to the one that was last at the start. A job that it kills dies after
/// that, and a job that is pushed or enters a queue meanwhile has a sequence beyond `id_end`: so
/// nothing is changed twice, and nobody can prolong the task.
bool MutateTask::work(TaskContext& context, Time now) {
  const Store& store = context.ledger.store();
  const TimeOrder& order = order_of_set(store, mutation.set);
  std::size_t read_bytes = 0;
  Steps steps(kSliceSteps);
  for (std::size_t i = 0; i < kSliceChanges && read_bytes < kSliceBodyBytes; ++i) {
    const auto place = order.upper_bound(after);
    if (place == order.end() || last < *place) return true;
    if (context.admission.is_batch_full()) return false;
    // A copy: the change removes the entry from the order.
    const TimeEntry entry = *place;
    const Job& job = store.jobs().at(entry.slot);
    bool is_chosen = job.sequence < id_end;
    if (is_chosen && mutation.matches) {
      // Bodies may have to be read from the log, which costs more than the comparison.
      read_bytes += job.body_bytes;
      store.jobs().load_body(job);
      const Match match = mutation.matches(job, store.queues().at(job.queue), steps);
      // `after` stays: the filter is asked about this job again.
      if (match == Match::kUnfinished) return false;
      is_chosen = match == Match::kYes;
    }
    after = entry;
    if (!is_chosen) continue;
    context.moves.change(job, mutation.action, now);
    ++changed;
  }
  return false;
}

}  // namespace millrace
