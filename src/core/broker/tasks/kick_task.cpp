#include "core/broker/tasks/kick_task.hpp"

#include <algorithm>

namespace millrace {

// A job that is buried or delayed again meanwhile must not be kicked a second time: so there are
// no more kicks than jobs now.
KickTask::KickTask(const Queue& given, std::uint64_t bound)
    : queue(given.id),
      // Decided at the start: buried jobs if there are any, else delayed ones, never both
      // (beanstalk protocol).
      kicks_dead(!given.dead.empty()),
      left(std::min<std::uint64_t>(bound, kicks_dead ? given.dead.size() : given.delayed.size())) {}

bool KickTask::work(TaskContext& context, Time now) {
  Store& store = context.ledger.store();
  const Queue& kicked = store.queues().at(queue);
  return kicks_dead ? kick_first(kicked.dead, context, now)
                    : kick_first(store.delayed(kicked), context, now);
}

template <typename Order>
bool KickTask::kick_first(const Order& order, TaskContext& context, Time now) {
  for (std::size_t i = 0; i < kSliceChanges && left > 0 && !order.empty(); ++i) {
    if (context.admission.is_batch_full()) return false;
    context.moves.kick(context.ledger.store().jobs().at((*order.begin()).slot), now);
    --left;
    ++changed;
  }
  return left == 0 || order.empty();
}

}  // namespace millrace
