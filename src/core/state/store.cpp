#include "core/state/store.hpp"

#include <algorithm>

#include "core/model/record_size.hpp"

namespace millrace {
namespace {

ReadyEntry ready_entry(const Job& job, JobSlot slot) {
  return {.pri = job.pri, .slot = slot, .sequence = job.sequence};
}

TimeEntry time_entry(const Job& job, JobSlot slot) {
  return {.when = job.when, .id = job.id, .slot = slot};
}

/// True for a job of `Store::failed_before`.
bool has_failed_before(const Job& job) {
  return job.failure() != nullptr && job.state != JobState::kRetrying &&
         job.state != JobState::kDead;
}

TimeEntry failure_entry(const Job& job, JobSlot slot) {
  return {.when = job.failure()->failed_at, .id = job.id, .slot = slot};
}

}  // namespace

Store::Store() : bodies_(jobs_), held_under_jid_(kJidShards), log_order_(jobs_) {
  open_queue(kDefaultQueue);
}

// ---- reading ------------------------------------------------------------------------------------

const Job* Store::find(JobId id) const {
  const auto slot = index_.find(id);
  return slot ? &jobs_[*slot] : nullptr;
}

JobFields Store::fields_of(const Job& job) {
  JobFields fields;
  fields.state = job.state;
  fields.pri = job.pri;
  fields.sequence = job.sequence;
  fields.when = job.when;
  fields.enqueued_at = job.enqueued_at;
  fields.delay_s = job.delay_s;
  if (!job.history) return fields;
  fields.tallies = job.history->tallies;
  if (job.history->failure) fields.failure = *job.history->failure;
  if (job.history->reservation) fields.reservation = *job.history->reservation;
  return fields;
}

const TimeOrder* Store::held_by(ClientId client) const {
  const auto found = held_by_client_.find(client);
  return found == held_by_client_.end() ? nullptr : &found->second;
}

Store::JidShard& Store::jid_shard(std::string_view jid) {
  return held_under_jid_[TextHash{}(jid) % kJidShards];
}

const Store::JobIds* Store::held_under(std::string_view jid) const {
  const JidShard& shard = const_cast<Store*>(this)->jid_shard(jid);
  const auto found = shard.find(jid);
  return found == shard.end() ? nullptr : &found->second;
}

/// By what was measured at ten million jobs. The texts of failures are what records have beyond
/// their bodies and a usual rest.
std::size_t Store::other_memory_bytes() const {
  constexpr std::size_t kJobBytes = 144;
  constexpr std::size_t kQueueBytes = 1024;
  constexpr std::size_t kOrderBytes = 32;
  constexpr std::size_t kUsualRestBytes = 64;
  const std::size_t usual = all_body_bytes_ + jobs_.size() * kUsualRestBytes;
  const std::size_t texts = job_record_bytes_ - std::min<std::size_t>(job_record_bytes_, usual);
  return jobs_.size() * kJobBytes + failed_before_.size() * kOrderBytes +
         creation_.size() * kQueueBytes + texts;
}

// ---- jobs ---------------------------------------------------------------------------------------

void Store::apply(Record&& record) {
  std::visit([this](auto& value) { apply_one(std::move(value)); }, record);
}

/// A job that is there already stays in its queue: it was only written once more.
void Store::apply_one(JobAdded&& record) {
  const QueueId queue = open_queue(record.queue);
  if (const auto former = index_.find(record.id)) erase(*former);
  const JobSlot slot = jobs_.allocate();
  Job& job = jobs_[slot];
  job.id = record.id;
  job.kind = record.kind;
  job.queue = queue;
  job.created_at = record.created_at;
  job.ttr_s = std::max<std::uint32_t>(record.ttr_s, 1);
  bodies_.keep(job, record.body);
  all_body_bytes_ += job.body_bytes;
  set_fields(job, std::move(record.fields));
  enter_log(slot, record.body_at);
  index_.insert(job.id, slot);
  enter_orders(slot);
  spend(job.id, job.sequence);
}

void Store::apply_one(JobChanged&& record) {
  spend(record.id, record.fields.sequence);
  const auto slot = index_.find(record.id);
  if (!slot) return;
  leave_orders(*slot);
  Job& job = jobs_[*slot];
  job_record_bytes_ -= record_bytes(job, queues_[job.queue]->name);
  set_fields(job, std::move(record.fields));
  job_record_bytes_ += record_bytes(job, queues_[job.queue]->name);
  enter_orders(*slot);
}

void Store::apply_one(JobRemoved&& record) {
  const auto slot = index_.find(record.id);
  if (!slot) return;
  const QueueId queue = jobs_[*slot].queue;
  erase(*slot);
  collect_queue(queue);
}

void Store::erase(JobSlot slot) {
  leave_orders(slot);
  leave_log(slot);
  bodies_.forget(jobs_[slot]);
  all_body_bytes_ -= jobs_[slot].body_bytes;
  index_.erase(jobs_[slot].id);
  jobs_.free(slot);
}

void Store::spend(JobId id, Sequence sequence) {
  counters_.next_id = std::max({counters_.next_id, id + 1, sequence + 1});
}

void Store::set_fields(Job& job, JobFields&& fields) {
  job.state = fields.state;
  job.pri = fields.pri;
  job.sequence = fields.sequence;
  job.when = fields.when;
  job.enqueued_at = fields.enqueued_at;
  job.delay_s = fields.delay_s;
  const bool is_fresh = fields.tallies == Tallies{} && !fields.failure && !fields.reservation;
  if (is_fresh) {
    job.history.reset();
    return;
  }
  if (!job.history) job.history = std::make_unique<JobHistory>();
  JobHistory& history = *job.history;
  history.tallies = fields.tallies;
  history.failure.reset();
  history.reservation.reset();
  if (fields.failure) history.failure = std::make_unique<Failure>(std::move(*fields.failure));
  if (fields.reservation) {
    history.reservation = std::make_unique<Reservation>(std::move(*fields.reservation));
  }
}

void Store::enter_orders(JobSlot slot) {
  const Job& job = jobs_[slot];
  Queue& queue = *queues_[job.queue];
  ++counts_[static_cast<std::size_t>(job.state)];
  if (has_failed_before(job)) failed_before_.insert(failure_entry(job, slot));
  switch (job.state) {
    case JobState::kReady:
      queue.ready.insert(ready_entry(job, slot));
      list_queue(queue);
      if (job.pri < kUrgentPri) ++queue.urgent_count, ++urgent_count_;
      return;
    case JobState::kScheduled:
      queue.delayed.insert(time_entry(job, slot));
      scheduled_.insert(time_entry(job, slot));
      return;
    case JobState::kRetrying:
      queue.delayed.insert(time_entry(job, slot));
      ++queue.retrying_count;
      retrying_.insert(time_entry(job, slot));
      return;
    case JobState::kDead:
      queue.dead.insert(time_entry(job, slot));
      dead_.insert(time_entry(job, slot));
      if (job.kind == JobKind::kWorkUnit) dead_work_units_.insert(time_entry(job, slot));
      return;
    case JobState::kReserved:
      enter_reserved(job, slot);
      return;
  }
}

void Store::leave_orders(JobSlot slot) {
  const Job& job = jobs_[slot];
  Queue& queue = *queues_[job.queue];
  --counts_[static_cast<std::size_t>(job.state)];
  if (has_failed_before(job)) failed_before_.erase(failure_entry(job, slot));
  switch (job.state) {
    case JobState::kReady:
      queue.ready.erase(ready_entry(job, slot));
      list_queue(queue);
      if (job.pri < kUrgentPri) --queue.urgent_count, --urgent_count_;
      return;
    case JobState::kScheduled:
      queue.delayed.erase(time_entry(job, slot));
      scheduled_.erase(time_entry(job, slot));
      return;
    case JobState::kRetrying:
      queue.delayed.erase(time_entry(job, slot));
      --queue.retrying_count;
      retrying_.erase(time_entry(job, slot));
      return;
    case JobState::kDead:
      queue.dead.erase(time_entry(job, slot));
      dead_.erase(time_entry(job, slot));
      if (job.kind == JobKind::kWorkUnit) dead_work_units_.erase(time_entry(job, slot));
      return;
    case JobState::kReserved:
      leave_reserved(job, slot);
      return;
  }
}

void Store::enter_reserved(const Job& job, JobSlot slot) {
  reserved_.insert(time_entry(job, slot));
  ++queues_[job.queue]->reserved_count;
  const Reservation& reservation = *job.reservation();
  if (reservation.is_held_by_worker()) {
    ++worker_held_count_;
    jid_shard(reservation.jid)[reservation.jid].insert(job.id);
  } else {
    held_by_client_[reservation.client].insert(time_entry(job, slot));
  }
}

void Store::leave_reserved(const Job& job, JobSlot slot) {
  reserved_.erase(time_entry(job, slot));
  --queues_[job.queue]->reserved_count;
  const Reservation& reservation = *job.reservation();
  if (reservation.is_held_by_worker()) {
    --worker_held_count_;
    JidShard& shard = jid_shard(reservation.jid);
    JobIds& ids = shard[reservation.jid];
    ids.erase(job.id);
    if (ids.empty()) shard.erase(reservation.jid);
  } else {
    const auto held = held_by_client_.find(reservation.client);
    held->second.erase(time_entry(job, slot));
    if (held->second.empty()) held_by_client_.erase(held);
  }
}

// ---- queues -------------------------------------------------------------------------------------

QueueId Store::open_queue(std::string_view name) {
  if (const auto found = queue_ids_.find(name); found != queue_ids_.end()) return found->second;
  QueueId id = static_cast<QueueId>(queues_.size());
  if (free_queues_.empty()) {
    queues_.push_back(nullptr);
  } else {
    id = free_queues_.back();
    free_queues_.pop_back();
  }
  queues_[id] = std::make_unique<Queue>();
  Queue& queue = *queues_[id];
  queue.name = name;
  queue.id = id;
  queue.created = next_creation_++;
  queue_ids_.emplace(queue.name, id);
  creation_.emplace_hint(creation_.end(), queue.created, id);
  return id;
}

/// Lists the queue, or no longer, as it is now.
void Store::list_queue(Queue& queue) {
  const bool is_listed = queue.is_kept || !queue.ready.empty();
  if (is_listed == queue.listed_at.has_value()) return;
  if (is_listed) {
    queue.listed_at = static_cast<std::uint32_t>(listed_queues_.size());
    listed_queues_.push_back(queue.id);
    return;
  }
  const QueueId last = listed_queues_.back();
  listed_queues_[*queue.listed_at] = last;
  queues_[last]->listed_at = queue.listed_at;
  listed_queues_.pop_back();
  queue.listed_at.reset();
}

Queue* Store::find_queue(std::string_view name) {
  const auto found = queue_ids_.find(name);
  return found == queue_ids_.end() ? nullptr : queues_[found->second].get();
}

const Queue* Store::find_queue(std::string_view name) const {
  return const_cast<Store*>(this)->find_queue(name);
}

void Store::end_pause() {
  const QueueId id = pause_ends_.begin()->second;
  pause_ends_.erase(pause_ends_.begin());
  collect_queue(id);
}

void Store::collect_queue(QueueId id) {
  const Queue& queue = *queues_[id];
  const bool is_needed = queue.job_count() != 0 || queue.user_count != 0 ||
                         queue.watcher_count != 0 || !queue.waiting.empty() || queue.is_kept ||
                         queue.paused_until == kNever || queue.name == kDefaultQueue;
  if (is_needed) return;
  if (queue.paused_until != Time{}) {
    // Its jobs may stand further on in the log than its pause.
    if (is_replaying_) return;
    lost_pauses_.push_back(queue.name);
  }
  forget_record(*queues_[id]);
  creation_.erase(queue.created);
  pause_ends_.erase({queue.paused_until, id});
  queue_ids_.erase(queue.name);
  queues_[id].reset();
  free_queues_.push_back(id);
}

void Store::apply_one(QueueChanged&& record) {
  Queue& queue = *queues_[open_queue(record.name)];
  forget_record(queue);
  pause_ends_.erase({queue.paused_until, queue.id});
  if (record.paused_until != Time{} && record.paused_until != kNever) {
    pause_ends_.emplace(record.paused_until, queue.id);
  }
  queue.is_kept = record.is_kept;
  list_queue(queue);
  queue.paused_until = record.paused_until;
  queue.pause_s = record.pause_s;
  if (queue.is_kept || queue.paused_until != Time{}) note_record(queue);
  collect_queue(queue.id);
}

void Store::apply_one(CountersChanged&& record) {
  const JobId next_id = std::max(counters_.next_id, record.next_id);
  counters_ = record;
  counters_.next_id = next_id;
}

void Store::apply_one(HistoryChanged&& record) {
  history_ = std::move(record.days);
  history_at_ = history_.empty() ? kNoRecord : 0;
}

// ---- the log ------------------------------------------------------------------------------------

void Store::enter_log(JobSlot slot, Lsn body_at) {
  Job& job = jobs_[slot];
  job.body_at = body_at;
  job.is_placed = false;
  log_order_.push_newest(slot);
  if (first_unplaced_ == kNoJob) first_unplaced_ = slot;
  job_record_bytes_ += record_bytes(job, queues_[job.queue]->name);
}

void Store::leave_log(JobSlot slot) {
  const Job& job = jobs_[slot];
  if (first_unplaced_ == slot) first_unplaced_ = job.newer;
  if (newest_resident_ == slot) newest_resident_ = job.older;
  log_order_.remove(slot);
  job_record_bytes_ -= record_bytes(job, queues_[job.queue]->name);
}

/// The newest first, since in a line they are needed last. A job that comes brings less along than
/// may go with it, so that memory becomes less even where jobs alone outgrow what was kept.
void Store::spill_some() {
  constexpr int kAtATime = 4;
  for (int i = 0; i < kAtATime && newest_resident_ != kNoJob; ++i) {
    if (!bodies_.is_too_much(other_memory_bytes())) return;
    const Job& job = jobs_[newest_resident_];
    bodies_.spill(job);
    newest_resident_ = job.older;
  }
}

void Store::move_to_log_end(JobSlot slot, Lsn body_at) {
  leave_log(slot);
  enter_log(slot, body_at);
}

void Store::forget_record(Queue& queue) {
  if (!queue.record_place) return;
  queue_record_bytes_ -= record_bytes(queue);
  queue_records_.erase(*queue.record_place);
  queue.record_place.reset();
}

void Store::note_record(Queue& queue) {
  queue.record_at = 0;
  queue_record_bytes_ += record_bytes(queue);
  queue.record_place = queue_records_.insert(queue_records_.end(), queue.id);
}

void Store::move_to_log_end(const Queue& queue) {
  Queue& moved = *queues_[queue.id];
  forget_record(moved);
  note_record(moved);
}

void Store::place(Lsn begin) {
  for (JobSlot slot = first_unplaced_; slot != kNoJob; slot = jobs_[slot].newer) {
    Job& job = jobs_[slot];
    job.body_at += begin;
    job.is_placed = true;
    if (bodies_.is_too_much(other_memory_bytes())) {
      bodies_.spill(job);
      spill_some();
    } else {
      newest_resident_ = slot;
    }
  }
  first_unplaced_ = kNoJob;
  for (auto id = queue_records_.rbegin(); id != queue_records_.rend(); ++id) {
    if (queues_[*id]->record_at != 0) break;
    queues_[*id]->record_at = begin;
  }
  if (history_at_ == 0) history_at_ = begin;
}

const Queue* Store::oldest_queue_record() const {
  return queue_records_.empty() ? nullptr : queues_[queue_records_.front()].get();
}

/// The byte before the body belongs to the record, even where the body is empty.
bool Store::stands_before(JobSlot slot, Lsn before) const {
  const Job& job = jobs_[slot];
  return job.is_placed && job.body_at - 1 < before;
}

bool Store::stands_before(const Queue& queue, Lsn before) const {
  return queue.record_at != 0 && queue.record_at < before;
}

Lsn Store::oldest_needed() const {
  // What is not placed yet will stand behind all that is.
  Lsn oldest = history_at_ == 0 ? kNoRecord : history_at_;
  const Queue* const queue = oldest_queue_record();
  if (queue != nullptr && stands_before(*queue, oldest)) oldest = queue->record_at;
  const JobSlot job = oldest_job();
  if (job != kNoJob && stands_before(job, oldest)) oldest = jobs_[job].body_at - 1;
  return oldest;
}

}  // namespace millrace
