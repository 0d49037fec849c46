#include "core/state/throttle/queue_lines.hpp"

#include <utility>

#include "core/state/throttle/throttle_table.hpp"

namespace millrace {

Lines& QueueLines::open(Queue& queue, bool has_keys) {
  dismiss(queue);
  std::unique_ptr<Lines>& lines = lines_[queue.id];
  lines = std::make_unique<Lines>(table_, counts_, queue, has_keys);
  queue.lines = lines.get();
  if (has_keys && !lines->is_complete()) lining_up_.push_back(queue.id);
  return *lines;
}

/// A million entries are not freed at once.
void QueueLines::dismiss(Queue& queue) {
  if (queue.lines == nullptr) return;
  const auto found = lines_.find(queue.id);
  found->second->dismiss();
  if (!found->second->clear_some()) dismissed_.push_back(std::move(found->second));
  lines_.erase(found);
  queue.lines = nullptr;
}

void QueueLines::leave(Queue& queue, const Job& job, const ReadyEntry& entry, bool comes_back) {
  queue.lines->leave(job, entry, comes_back);
  if (queue.lines->is_idle()) dismiss(queue);
}

std::optional<QueueId> QueueLines::take_unfinished() {
  while (!unfinished_.empty()) {
    const QueueId id = unfinished_.back();
    unfinished_.pop_back();
    if (queues_.has(id)) return id;
  }
  return std::nullopt;
}

Queue* QueueLines::line_up_some(absl::FunctionRef<const Job&(JobSlot)> job_in) {
  if (!dismissed_.empty() && dismissed_.back()->clear_some()) dismissed_.pop_back();
  if (lining_up_.empty()) return nullptr;
  const QueueId id = lining_up_.back();
  // The queue may be gone, or have other limits.
  Queue* const queue = queues_.has(id) ? &queues_.at(id) : nullptr;
  const bool lines_up =
      queue != nullptr && queue->throttle != nullptr && queue->throttle->is_lining_up;
  if (lines_up) queue->lines->complete_some(job_in);
  if (lines_up && !queue->lines->is_complete()) return nullptr;
  lining_up_.pop_back();
  return lines_up ? queue : nullptr;
}

}  // namespace millrace
