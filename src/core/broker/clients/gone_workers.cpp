#include "core/broker/clients/gone_workers.hpp"

#include <algorithm>

namespace millrace {

void GoneWorkers::begin(WorkerRules rules, Time now) {
  rules_ = rules;
  if (rules_.timeout) start_due_ = now + *rules_.timeout;
}

void GoneWorkers::add(const Worker& worker, Time alive_at, HeldJobs jobs) {
  if (!rules_.timeout) return;
  remove(worker.wid);
  if (workers_.size() >= kCountMax) return;
  const Time due = alive_at + *rules_.timeout;
  workers_[worker.wid] = {.hostname = worker.hostname,
                          .pid = worker.pid,
                          .due = due,
                          .keeps_jobs = jobs == HeldJobs::kStay};
  due_.emplace(due, worker.wid);
}

bool GoneWorkers::remove(std::string_view wid) {
  const auto found = workers_.find(wid);
  // Nobody has looked yet at what is held from before the start.
  if (found == workers_.end()) return start_due_ != kNever;
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
  if (found != workers_.end()) found->second.holds_jobs = true;
}

Time GoneWorkers::next_due() const {
  return due_.empty() ? start_due_ : std::min(start_due_, due_.begin()->first);
}

void GoneWorkers::begin_look(Time now) {
  look_began_ = now;
  looks_before_start_ = start_due_ <= now;
  if (looks_before_start_) start_due_ = kNever;
  for (auto& [wid, worker] : workers_) worker.holds_jobs = false;
}

bool GoneWorkers::is_lost(const GoneWorker* worker, bool is_from_before) const {
  if (worker != nullptr) return !worker->keeps_jobs && worker->due <= look_began_;
  return is_from_before && looks_before_start_;
}

void GoneWorkers::end_look() {
  while (!due_.empty() && due_.begin()->first <= look_began_) due_.erase(due_.begin());
  for (auto worker = workers_.begin(); worker != workers_.end();) {
    const auto here = worker++;
    if (here->second.holds_jobs) continue;
    due_.erase({here->second.due, here->first});
    workers_.erase(here);
  }
}

}  // namespace millrace
