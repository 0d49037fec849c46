#include "core/state/job_orders.hpp"

namespace millrace {
namespace {

ReadyEntry ready_entry(const Job& job, JobSlot slot) {
  return {.pri = job.pri, .slot = slot, .sequence = job.sequence};
}

TimeEntry time_entry(const Job& job, JobSlot slot) {
  return {.when = job.when, .id = job.id, .slot = slot};
}

/// True for a job of `expiring`: neither a run nor death is cut short.
bool waits_and_expires(const Job& job) {
  return job.features && job.features->expires() && job.state != JobState::kReserved &&
         job.state != JobState::kDead;
}

bool is_member(const Job& job) {
  return job.features && job.features->is_member();
}

/// True for a job of `dead_work_units`: buried beanstalk jobs are not purged, nor is what the disk
/// could not give, and may give again.
bool is_purged(const Job& job) {
  return job.kind == JobKind::kWorkUnit && !job.has_mark(job_marks::kBodyUnreadable);
}

TimeEntry expiry_entry(const Job& job, JobSlot slot) {
  return {.when = job.features->expires_at, .id = job.id, .slot = slot};
}

/// The part of a due order that the scheduled or retrying job is in.
TimeOrder& part_of(DueOrder& order, const Job& job) {
  return job.follows_wall() ? order.wall : order.steady;
}

// A job is in each order of its state once: it has entered before it leaves, with the same key.

template <typename Order, typename Entry>
void add(Order& order, const Entry& entry) {
  const bool is_new = order.insert(entry).second;
  CHECK(is_new);
}

template <typename Order, typename Entry>
void take(Order& order, const Entry& entry) {
  const std::size_t taken = order.erase(entry);
  CHECK(taken == 1);
}

template <typename Count>
void count_down(Count& count) {
  CHECK(count > 0);
  --count;
}

}  // namespace

void JobOrders::enter(const Job& job, JobSlot slot, const Attempts* attempts) {
  // A reservation exists exactly while the job is reserved.
  CHECK((job.reservation() != nullptr) == (job.state == JobState::kReserved));
  Queue& queue = queues_.at(job.queue);
  ++counts_[static_cast<std::size_t>(job.state)];
  if (waits_and_expires(job)) {
    add(expiring_, expiry_entry(job, slot));
    ++queue.expiring_count;
  }
  if (is_member(job)) members_.enter(job, slot);
  failures_.enter(job, slot, attempts);
  switch (job.state) {
    case JobState::kReady:
      add(queue.ready, ready_entry(job, slot));
      if (queue.lines != nullptr) queue.lines->enter(job, ready_entry(job, slot));
      queues_.update_listed(queue);
      // Counted, since `stats` must not walk the ready jobs.
      if (job.pri < kUrgentPri) ++queue.urgent_count, ++urgent_count_;
      return;
    case JobState::kScheduled:
      add(part_of(queue.delayed, job), time_entry(job, slot));
      add(part_of(scheduled_, job), time_entry(job, slot));
      return;
    case JobState::kRetrying:
      add(queue.delayed.steady, time_entry(job, slot));
      ++queue.retrying_count;
      add(retrying_, time_entry(job, slot));
      return;
    case JobState::kDead:
      add(queue.dead, time_entry(job, slot));
      add(dead_, time_entry(job, slot));
      if (is_purged(job)) add(dead_work_units_, time_entry(job, slot));
      return;
    case JobState::kReserved:
      enter_reserved(job, slot);
      return;
  }
}

void JobOrders::leave(const Job& job, JobSlot slot, std::optional<JobState> next) {
  Queue& queue = queues_.at(job.queue);
  count_down(counts_[static_cast<std::size_t>(job.state)]);
  if (waits_and_expires(job)) {
    take(expiring_, expiry_entry(job, slot));
    count_down(queue.expiring_count);
  }
  if (is_member(job)) members_.leave(job, slot, !next);
  failures_.leave(job, slot, !next);
  switch (job.state) {
    case JobState::kReady:
      // With the same key as on entry: nothing may change a job between `enter` and `leave`.
      take(queue.ready, ready_entry(job, slot));
      if (queue.lines != nullptr) {
        throttles_.lines().leave(queue, job, ready_entry(job, slot), next == JobState::kReady);
      }
      queues_.update_listed(queue);
      if (job.pri < kUrgentPri) count_down(queue.urgent_count), count_down(urgent_count_);
      return;
    case JobState::kScheduled:
      take(part_of(queue.delayed, job), time_entry(job, slot));
      take(part_of(scheduled_, job), time_entry(job, slot));
      return;
    case JobState::kRetrying:
      take(queue.delayed.steady, time_entry(job, slot));
      count_down(queue.retrying_count);
      take(retrying_, time_entry(job, slot));
      return;
    case JobState::kDead:
      take(queue.dead, time_entry(job, slot));
      take(dead_, time_entry(job, slot));
      if (is_purged(job)) take(dead_work_units_, time_entry(job, slot));
      return;
    case JobState::kReserved:
      leave_reserved(job, slot);
      return;
  }
}

void JobOrders::enter_reserved(const Job& job, JobSlot slot) {
  add(reserved_, time_entry(job, slot));
  Queue& queue = queues_.at(job.queue);
  ++queue.reserved_count;
  if (throttles_.limits(queue)) throttles_.enter(queue, job);
  const Reservation& held = *job.reservation();
  if (held.is_held_by_worker()) {
    ++worker_held_count_;
    // In shards, since a table that grows moves all its entries.
    add(held_under_jid_[shard_of(held.jid)][held.jid], job.id);
  } else {
    add(held_by_client_[held.client], time_entry(job, slot));
  }
}

/// A name or a client without jobs is forgotten: both come from outside, and there is no end of
/// them.
void JobOrders::leave_reserved(const Job& job, JobSlot slot) {
  take(reserved_, time_entry(job, slot));
  Queue& queue = queues_.at(job.queue);
  count_down(queue.reserved_count);
  if (throttles_.limits(queue)) throttles_.leave(queue, job);
  CHECK(job.reservation() != nullptr);
  const Reservation& held = *job.reservation();
  if (held.is_held_by_worker()) {
    count_down(worker_held_count_);
    JidShard& shard = held_under_jid_[shard_of(held.jid)];
    const auto ids = shard.find(held.jid);
    CHECK(ids != shard.end());
    take(ids->second, job.id);
    if (ids->second.empty()) shard.erase(ids);
  } else {
    const auto order = held_by_client_.find(held.client);
    CHECK(order != held_by_client_.end());
    take(order->second, time_entry(job, slot));
    if (order->second.empty()) held_by_client_.erase(order);
  }
}

const TimeOrder* JobOrders::held_by(ClientId client) const {
  const auto found = held_by_client_.find(client);
  return found == held_by_client_.end() ? nullptr : &found->second;
}

const JobOrders::JobIds* JobOrders::held_under(std::string_view jid) const {
  const JidShard& shard = held_under_jid_[shard_of(jid)];
  const auto found = shard.find(jid);
  return found == shard.end() ? nullptr : &found->second;
}

/// Dead jobs are kicked in the order in which they died, and jobs of the same time would be in the
/// order of their ids. The clock may also have been set back.
Time JobOrders::time_of_death(Time now) const {
  return dead_.empty() ? now : std::max(now, dead_.rbegin()->when + Duration{1});
}

}  // namespace millrace
