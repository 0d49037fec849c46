#include "core/broker/clients/gone_workers.hpp"

#include <algorithm>

namespace millrace {

void GoneWorkers::begin(WorkerRules rules, bool are_jobs_held, Time now) {
  rules_ = rules;
  if (rules_.timeout && are_jobs_held) {
    start_ends_ = start_due_ = now + kTimeoutsAfterStart * *rules_.timeout;
  }
  has_unknown_holders_ = are_jobs_held;
}

void GoneWorkers::add(const Worker& worker, bool keeps_jobs, Time now) {
  remove(worker.wid);
  if (workers_.size() >= kCountMax) return;
  Time due = rules_.timeout ? now + *rules_.timeout : kNever;
  // Another client of that name may have come since the start, and gone: only a BEAT tells.
  if (!worker.beats_steadily) due = std::max(due, start_ends_);
  workers_[worker.wid] = {.hostname = worker.hostname,
                          .pid = worker.pid,
                          .due = due,
                          .keeps_jobs = keeps_jobs,
                          .has_beaten = worker.beats_steadily};
  if (due != kNever) due_.emplace(due, worker.wid);
}

bool GoneWorkers::remove(std::string_view wid) {
  const auto found = workers_.find(wid);
  if (found == workers_.end()) return has_unknown_holders_;
  due_.erase({found->second.due, std::string(wid)});
  workers_.erase(found);
  return true;
}

const GoneWorker* GoneWorkers::find(std::string_view wid) const {
  const auto found = workers_.find(wid);
  return found == workers_.end() ? nullptr : &found->second;
}

void GoneWorkers::note_holding(std::string_view wid) {
  const auto found = workers_.find(wid);
  if (found != workers_.end()) {
    found->second.holds_jobs = true;
  } else {
    has_seen_unknown_ = true;
  }
}

void GoneWorkers::note_taker(std::string_view wid) {
  if (wid.empty() || !takers_.emplace(wid).second) return;
  taker_order_.emplace_back(wid);
  if (taker_order_.size() <= kTakersMax) return;
  takers_.erase(taker_order_.front());
  taker_order_.pop_front();
}

Time GoneWorkers::next_due() const {
  return due_.empty() ? start_due_ : std::min(start_due_, due_.begin()->first);
}

void GoneWorkers::begin_look(Time now) {
  look_began_ = now;
  looks_before_start_ = start_due_ <= now;
  if (looks_before_start_) start_due_ = kNever;
  for (auto& [wid, worker] : workers_) worker.holds_jobs = false;
  has_seen_unknown_ = false;
}

bool GoneWorkers::is_lost(const GoneWorker* worker, const Job& job) const {
  const bool holder_beats = job.has_mark(job_marks::kHolderBeats);
  if (worker != nullptr) {
    return !worker->keeps_jobs && worker->due <= look_began_ &&
           (worker->has_beaten || holder_beats);
  }
  const bool is_from_before = job.reservation()->consumer == 0;
  return is_from_before && looks_before_start_ && holder_beats;
}

void GoneWorkers::end_look() {
  has_unknown_holders_ = has_seen_unknown_ || start_due_ != kNever;
  while (!due_.empty() && due_.begin()->first <= look_began_) due_.erase(due_.begin());
  for (auto worker = workers_.begin(); worker != workers_.end();) {
    const auto here = worker++;
    if (here->second.holds_jobs) continue;
    due_.erase({here->second.due, here->first});
    workers_.erase(here);
  }
}

}  // namespace millrace
