#include "core/state/queues.hpp"

#include "core/model/codec.hpp"

namespace millrace {

QueueChanged record_of(const Queue& queue) {
  return {.name = queue.name,
          .is_kept = queue.is_kept,
          .paused_until = queue.paused_until,
          .pause_s = queue.pause_s};
}

Queues::Queues() {
  // It always exists (beanstalk protocol).
  open(kDefaultQueue);
}

QueueId Queues::open(std::string_view name) {
  if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
  QueueId id = static_cast<QueueId>(queues_.size());
  if (free_ids_.empty()) {
    queues_.push_back(nullptr);
  } else {
    // Numbers are used again, so that the table is not longer than the most queues there were.
    id = free_ids_.back();
    free_ids_.pop_back();
  }
  CHECK(queues_[id] == nullptr);
  queues_[id] = std::make_unique<Queue>();
  Queue& queue = *queues_[id];
  queue.name = name;
  queue.id = id;
  queue.created = next_creation_++;
  ids_.emplace(queue.name, id);
  // Cursors over queues are creation numbers, which are never used again.
  creation_.emplace_hint(creation_.end(), queue.created, id);
  ++changes_;
  if (watcher_ != nullptr) watcher_->opened(queue);
  return id;
}

/// In or out of the list, as the queue is now. The last of the list fills the gap: it has no order,
/// and with a hundred thousand queues a shift would be long.
void Queues::update_listed(Queue& queue) {
  const bool is_listed = queue.is_kept || !queue.ready.empty();
  // Called with every job that comes or goes. It seldom changes anything.
  if (is_listed == queue.listed_at.has_value()) return;
  if (is_listed) {
    queue.listed_at = static_cast<std::uint32_t>(listed_.size());
    listed_.push_back(queue.id);
    return;
  }
  CHECK(listed_[*queue.listed_at] == queue.id);
  const QueueId last = listed_.back();
  listed_[*queue.listed_at] = last;
  queues_[last]->listed_at = queue.listed_at;
  listed_.pop_back();
  queue.listed_at.reset();
}

Queue* Queues::find(std::string_view name) {
  const auto found = ids_.find(name);
  return found == ids_.end() ? nullptr : queues_[found->second].get();
}

const Queue* Queues::find(std::string_view name) const {
  return const_cast<Queues*>(this)->find(name);
}

std::uint64_t Queues::page(std::uint64_t begin, std::uint64_t end, std::size_t limit,
                           const std::function<void(const Queue&)>& visit) const {
  auto place = creation_.lower_bound(begin);
  for (; place != creation_.end() && place->first < end; ++place, --limit) {
    // The place to continue at. It may be removed until then: the next one after it will do.
    if (limit == 0) return place->first;
    visit(at(place->second));
  }
  return end;
}

void Queues::end_pause() {
  CHECK(!pause_ends_.empty());
  const QueueId id = pause_ends_.begin()->second;
  pause_ends_.erase(pause_ends_.begin());
  collect(id);
}

void Queues::collect(QueueId id) {
  Queue& queue = at(id);
  const bool is_needed = queue.job_count() != 0 || queue.user_count != 0 ||
                         queue.watcher_count != 0 || !queue.waiting.empty() || queue.is_kept ||
                         queue.paused_until == kNever || queue.name == kDefaultQueue;
  // Tube names come from clients: a queue that nobody needs must not stay.
  if (is_needed) return;
  if (queue.paused_until != Time{}) {
    // Its jobs may come later in the log than its pause: compaction moves them forward.
    if (is_replaying_) return;
    lost_pauses_.push_back(queue.name);
  }
  CHECK(!queue.listed_at);
  ++changes_;
  if (watcher_ != nullptr) watcher_->dropped(queue);
  leave_log(queue);
  pause_ends_.erase({queue.paused_until, id});
  CHECK(creation_.erase(queue.created) == 1);
  CHECK(ids_.erase(queue.name) == 1);
  queues_[id].reset();
  free_ids_.push_back(id);
}

void Queues::apply(QueueChanged&& record) {
  Queue& queue = at(open(record.name));
  leave_log(queue);
  pause_ends_.erase({queue.paused_until, queue.id});
  if (record.paused_until != Time{} && record.paused_until != kNever) {
    pause_ends_.emplace(record.paused_until, queue.id);
  }
  queue.is_kept = record.is_kept;
  update_listed(queue);
  queue.paused_until = record.paused_until;
  queue.pause_s = record.pause_s;
  // A queue that is neither kept nor paused is what a queue is without a record.
  if (queue.is_kept || queue.paused_until != Time{}) enter_log(queue);
  collect(queue.id);
}

// ---- as a live kind -----------------------------------------------------------------------------

QueueChanged Queues::record_in(QueueId id) const {
  return record_of(at(id));
}

void Queues::enter_log(Queue& queue) {
  CHECK(!queue.log);
  queue.log.emplace();
  LiveRecords::enter_log(queue.id);
}

void Queues::leave_log(Queue& queue) {
  if (!queue.log) return;
  LiveRecords::leave_log(queue.id);
  queue.log.reset();
}

std::size_t Queues::write(std::string& batch) {
  std::size_t count = 0;
  for (const std::string& name : std::exchange(lost_pauses_, {})) {
    // A queue of that name that has come into being since has the last word.
    const Queue* const queue = find(name);
    if (queue != nullptr && queue->log) continue;
    encode(QueueChanged{.name = name}, batch);
    ++count;
  }
  return count;
}

}  // namespace millrace
