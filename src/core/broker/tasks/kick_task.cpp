#include "core/broker/tasks/kick_task.hpp"

#include <algorithm>

namespace millrace {

// A job that is buried or delayed again meanwhile must not be kicked a second time: so there are
// no more kicks than jobs now, and none of a job that died later.
KickTask::KickTask(const Queue& given, std::uint64_t bound)
    : queue(given.id),
      // Decided at the start: buried jobs if there are any, else delayed ones, never both
      // (beanstalk protocol).
      kicks_dead(!given.dead.empty()),
      left(std::min<std::uint64_t>(bound, kicks_dead ? given.dead.size() : given.delayed.size())) {
  if (kicks_dead) last = *given.dead.rbegin();
}

bool KickTask::work(TaskContext& context, Time now) {
  Store& store = context.ledger.store();
  const Queue& kicked = store.queues().at(queue);
  return kicks_dead ? kick_dead(kicked.dead, context, now) : kick_delayed(kicked, context, now);
}

bool KickTask::kick_dead(const TimeOrder& dead, TaskContext& context, Time now) {
  for (std::size_t i = 0; i < kSliceChanges && left > 0; ++i) {
    const auto first = dead.upper_bound(after);
    if (first == dead.end() || last < *first) return true;
    if (context.admission.is_batch_full()) return false;
    after = *first;
    if (!context.moves.kick(context.ledger.store().jobs().at(after.slot), now)) continue;
    --left;
    ++changed;
  }
  return left == 0;
}

bool KickTask::kick_delayed(const Queue& kicked, TaskContext& context, Time now) {
  Store& store = context.ledger.store();
  const auto delayed = store.delayed(kicked);
  for (std::size_t i = 0; i < kSliceChanges && left > 0 && !delayed.empty(); ++i) {
    if (context.admission.is_batch_full()) return false;
    const bool is_kicked = context.moves.kick(store.jobs().at((*delayed.begin()).slot), now);
    CHECK(is_kicked);
    --left;
    ++changed;
  }
  return left == 0 || delayed.empty();
}

}  // namespace millrace
