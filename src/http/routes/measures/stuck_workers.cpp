#include "http/routes/measures/stuck_workers.hpp"

#include <algorithm>
#include <utility>

namespace millrace::http {
namespace {

/// How long a run may take until it is longer than usual.
Duration usual_run(const Queue& queue) {
  if (!queue.meter) return Duration{};
  return queue.meter->run.quantile(0.95).value_or(Duration{});
}

}  // namespace

const StuckWorkers::Stuck* StuckWorkers::find(std::string_view wid) const {
  const auto found = stuck_.find(wid);
  return found == stuck_.end() ? nullptr : &found->second;
}

void StuckWorkers::work(const Broker& broker, Time now) {
  if (now < next_) return;
  const Store& store = broker.ledger().store();
  const View& view = broker.view();
  const TimeOrder& reserved = store.jobs().orders().reserved();
  auto next = place_ ? reserved.upper_bound(*place_) : reserved.begin();
  for (std::size_t i = 0; i < kJobsATurn && next != reserved.end(); ++i, ++next) {
    const Job& job = store.jobs().at(next->slot);
    place_ = *next;
    const Reservation& held = *job.reservation();
    if (!held.wid.empty()) {
      look_at(job, store.queues().at(job.queue), now);
    } else if (held.is_held_by_worker() && !view.clients().contains(held.consumer)) {
      ++leaving_.jobs;
      leaving_.ends = std::max(leaving_.ends, job.when);
    }
  }
  const bool is_over = next == reserved.end();
  next_ = now + (is_over ? kInterval : kTurnPause);
  if (is_over) end_round(view.workers(), now);
}

void StuckWorkers::end_round(const Workers& workers, Time now) {
  place_.reset();
  left_ = std::exchange(leaving_, {});
  stuck_.clear();
  for (const auto& [wid, held] : held_) {
    const auto worker = workers.find(wid);
    const bool is_silent = worker != workers.end() && worker->second.has_beaten &&
                           now - worker->second.last_beat > kHeartbeatLimit;
    if (is_silent) {
      stuck_[wid] = {.jobs = held.jobs.jobs, .since = worker->second.last_beat};
    } else if (!held.has_other) {
      stuck_.emplace(wid, held.jobs);
    }
  }
  held_.clear();
}

void StuckWorkers::look_at(const Job& job, const Queue& queue, Time now) {
  const Reservation& reservation = *job.reservation();
  auto found = held_.find(reservation.wid);
  if (found == held_.end()) {
    if (held_.size() == kWorkersMax) return;
    found = held_.emplace(reservation.wid, Held{}).first;
  }
  Held& held = found->second;
  ++held.jobs.jobs;
  held.jobs.since = std::max(held.jobs.since, reservation.reserved_at);
  const Duration age = now - reservation.reserved_at;
  held.has_other = held.has_other || age < kStuckAfter || age < usual_run(queue);
}

}  // namespace millrace::http
