#include "core/broker/jobs/pauses.hpp"

namespace millrace {

Answer<Done> Pauses::pause(std::string_view name, std::optional<std::uint32_t> seconds, Time now) {
  Store& store = ledger_.store();
  Queue* queue = store.queues().find(name);
  if (queue == nullptr) return Refusal::kNotFound;
  // The end of a pause makes no record longer, so it is always allowed.
  if (seconds != 0 && !admission_.admits_growth()) return Refusal::kNoRoom;
  // Commands are counted, whether they change something or not (beanstalk `cmd-pause-tube`).
  ++queue->pause_count;
  QueueChanged record{.name = queue->name, .is_kept = queue->is_kept};
  if (!seconds) {
    record.paused_until = kNever;
  } else if (*seconds > 0) {
    record.paused_until = now + std::chrono::seconds(*seconds);
    record.pause_s = *seconds;
  }
  // To record again what is already so would only make the log longer.
  if (record.paused_until == queue->paused_until) return Done{};
  const QueueId id = queue->id;
  ledger_.commit(std::move(record));
  // An endless pause can have been the last reason for the queue to exist.
  if (store.queues().has(id)) waits_.serve(id, now);
  return Done{};
}

void Pauses::end_due(Time now) {
  Store& store = ledger_.store();
  const Queues::PauseEnds& ends = store.queues().pause_ends();
  for (std::size_t ended = 0; ended < kSliceJobs; ++ended) {
    if (ends.empty() || ends.begin()->first > now) return;
    // Later in the same tick. The queue may vanish with its pause, and then there is nobody to
    // serve.
    waits_.serve_later(ends.begin()->second);
    store.queues().end_pause();
  }
}

Time Pauses::next_due() const {
  const Queues::PauseEnds& ends = ledger_.store().queues().pause_ends();
  return ends.empty() ? kNever : ends.begin()->first;
}

}  // namespace millrace
