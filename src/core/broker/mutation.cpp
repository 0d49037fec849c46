#include "core/broker/broker_state.hpp"

namespace millrace {
namespace {

const TimeOrder& order_of(const Store& store, JobState set) {
  CHECK(set == JobState::kScheduled || set == JobState::kRetrying || set == JobState::kDead);
  if (set == JobState::kScheduled) return store.scheduled();
  return set == JobState::kRetrying ? store.retrying() : store.dead();
}

}  // namespace

void Broker::State::mutate(const Job& job, Mutation::Action action, Time now) {
  switch (action) {
    case Mutation::Action::kDiscard:
      ++store().queue(job.queue).delete_count;
      return drop(job);
    case Mutation::Action::kKill: {
      JobFields fields = Store::fields_of(job);
      ++fields.tallies.buries;
      return make_dead(job, std::move(fields), now);
    }
    case Mutation::Action::kRequeue:
      return kick(job, now);
  }
}

/// From entry to entry up to the one that was last when it began. What it kills comes behind that,
/// and what is pushed or enters a queue meanwhile has a sequence beyond `id_end`: so nothing is
/// changed twice, and nobody can prolong it.
bool Broker::State::work_mutate(LongTask& task, Time now) {
  const TimeOrder& order = order_of(store(), task.mutation.set);
  std::size_t read_bytes = 0;
  Steps steps(kSliceSteps);
  for (std::size_t i = 0; i < kSliceChanges && read_bytes < kSliceBodyBytes; ++i) {
    const auto place = order.upper_bound(task.after);
    if (place == order.end() || task.last < *place) return true;
    if (is_batch_long()) return false;
    const TimeEntry entry = *place;
    const Job& job = store().at(entry.slot);
    bool is_chosen = job.sequence < task.id_end;
    if (is_chosen && task.mutation.matches) {
      read_bytes += job.body_bytes;
      store().load_body(job);
      const Match match = task.mutation.matches(job, store().queue(job.queue), steps);
      if (match == Match::kUnfinished) return false;
      is_chosen = match == Match::kYes;
    }
    task.after = entry;
    if (!is_chosen) continue;
    mutate(job, task.mutation.action, now);
    ++task.moved;
  }
  return false;
}

std::optional<std::uint64_t> Broker::mutate(ClientId id, Mutation mutation, Time now) {
  const TimeOrder& order = order_of(state_->store(), mutation.set);
  if (order.empty()) return 0;
  LongTask task;
  task.kind = LongTask::Kind::kMutate;
  task.client = id;
  task.id_end = state_->ledger.counters().next_id;
  task.last = *order.rbegin();
  task.mutation = std::move(mutation);
  return state_->start(std::move(task), now);
}

}  // namespace millrace
