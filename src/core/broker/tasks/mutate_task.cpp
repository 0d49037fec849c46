#include "core/broker/tasks/mutate_task.hpp"

namespace millrace {
namespace {

/// Null: the set has no part that follows the wall clock.
const TimeOrder* wall_order_of(const Store& store, JobState set) {
  return set == JobState::kScheduled ? &store.jobs().orders().scheduled().wall : nullptr;
}

const TimeOrder& steady_order_of(const Store& store, JobState set) {
  CHECK(set == JobState::kScheduled || set == JobState::kRetrying || set == JobState::kDead);
  if (set == JobState::kScheduled) return store.jobs().orders().scheduled().steady;
  return set == JobState::kRetrying ? store.jobs().orders().retrying()
                                    : store.jobs().orders().dead();
}

}  // namespace

const TimeEntry* MutateTask::Part::next(const TimeOrder& order) const {
  const auto place = order.upper_bound(after);
  return place == order.end() || last < *place ? nullptr : &*place;
}

MutateTask::MutateTask(const Ledger& ledger, Mutation given)
    : mutation(std::move(given)), id_end(ledger.store().totals().now().next_id) {
  const TimeOrder& steady_order = steady_order_of(ledger.store(), mutation.set);
  if (!steady_order.empty()) steady.last = *steady_order.rbegin();
  const TimeOrder* const wall_order = wall_order_of(ledger.store(), mutation.set);
  if (wall_order != nullptr && !wall_order->empty()) wall.last = *wall_order->rbegin();
}

/// The part whose next job is due sooner, and that entry. The parts have a place each, so that no
/// job is met twice or left out when the wall clock is set meanwhile.
MutateTask::Next MutateTask::next(const Store& store) {
  const TimeOrder* const wall_order = wall_order_of(store, mutation.set);
  const Next of_steady{&steady, steady.next(steady_order_of(store, mutation.set))};
  const Next of_wall{&wall, wall_order == nullptr ? nullptr : wall.next(*wall_order)};
  if (of_steady.entry == nullptr || of_wall.entry == nullptr) {
    return of_steady.entry == nullptr ? of_wall : of_steady;
  }
  TimeEntry shifted = *of_wall.entry;
  shifted.when = store.wall_clock().steady(shifted.when);
  return shifted < *of_steady.entry ? of_wall : of_steady;
}

/// From entry to entry, up to the one that was last at the start. A job that it kills dies after
/// that, and a job that is pushed or enters a queue meanwhile has a sequence beyond `id_end`: so
/// nothing is changed twice, and nobody can prolong the task.
bool MutateTask::work(TaskContext& context, Time now) {
  const Store& store = context.ledger.store();
  std::size_t read_bytes = 0;
  Steps steps(kSliceSteps);
  for (std::size_t i = 0; i < kSliceChanges && read_bytes < kSliceBodyBytes; ++i) {
    const Next found = next(store);
    if (found.entry == nullptr) return true;
    if (context.admission.is_batch_full()) return false;
    // A copy: the change removes the entry from the order.
    const TimeEntry entry = *found.entry;
    const Job& job = store.jobs().at(entry.slot);
    bool is_chosen = job.sequence < id_end;
    if (is_chosen && mutation.matches) {
      // Bodies may have to be read from the log, which costs more than the comparison.
      read_bytes += job.body_bytes;
      // A body that cannot be read matches nothing.
      const Match match = store.jobs().load_body(job)
                              ? mutation.matches(job, store.queues().at(job.queue), steps)
                              : Match::kNo;
      // The place stays: the filter is asked about this job again.
      if (match == Match::kUnfinished) return false;
      is_chosen = match == Match::kYes;
    }
    found.part->after = entry;
    if (!is_chosen) continue;
    if (mutation.action == Mutation::Action::kMove) {
      // The rest stays, as where it is refused from the beginning.
      if (!context.admission.admits_jobs()) return true;
      if (store.queues().at(job.queue).name == mutation.to) continue;
      // The whole job is written.
      read_bytes += job.body_bytes;
    }
    if (context.moves.change(job, mutation.action, now, mutation.to)) ++changed;
  }
  return false;
}

}  // namespace millrace
