#include <algorithm>
#include <utility>

#include "simulation/model/model.hpp"

/// The limits of a queue, and of a type.
namespace millrace::simulation {
void Model::set_limits(const LimitsByName& limits, Time now) {
  limits_ = limits;
  line_up();
  look_at_slots(now);
}

bool Model::set_limits_by_hand(const std::string& name, const ModelLimits& limits, Time now) {
  if (!takes_longer()) return false;
  const ModelLimits before = limits_of(name);
  const bool has_same_keys = (limits.per_key != 0) == (before.per_key != 0);
  facts.limits_by_hand[name] = limits;
  if (!has_same_keys) line_up();
  // Of a type, running jobs are always counted anew.
  const bool counts_anew = name == kLimitedType || limits.timeout != before.timeout;
  if (has_same_keys && !counts_anew) return true;
  for (auto& [id, job] : facts.jobs) job.aged.erase(name);
  look_at_slots(now);
  return true;
}

LimitsByName Model::all_limits() const {
  LimitsByName all = facts.limits_by_hand;
  all.insert(limits_.begin(), limits_.end());
  std::erase_if(all, [](const auto& entry) { return !entry.second.has_any(); });
  return all;
}

ModelLimits Model::limits_of(const std::string& name) const {
  const LimitsByName all = all_limits();
  const auto found = all.find(name);
  return found == all.end() ? ModelLimits{} : found->second;
}

/// The job runs, and takes a slot of these limits.
bool Model::counts(const ModelJob& job, const std::string& limits) const {
  const bool is_meant = limits == kLimitedType ? job.type == kLimitedJobtype : job.queue == limits;
  return is_meant && job.state == JobState::kReserved && !job.aged.contains(limits);
}

std::uint64_t Model::slots_taken(const std::string& limits) const {
  if (!limits_of(limits).has_any()) return 0;
  return static_cast<std::uint64_t>(
      std::count_if(facts.jobs.begin(), facts.jobs.end(),
                    [&](const auto& entry) { return counts(entry.second, limits); }));
}

std::uint64_t Model::slots_of_key(const std::string& key) const {
  return static_cast<std::uint64_t>(
      std::count_if(facts.jobs.begin(), facts.jobs.end(), [&](const auto& entry) {
        return entry.second.features.key == key && counts(entry.second, kThrottledQueue);
      }));
}

/// Its type has no free slot: those after it come first.
bool Model::is_passed_over(const ModelJob& job) const {
  if (job.type != kLimitedJobtype) return false;
  const std::uint32_t most = limits_of(kLimitedType).concurrency;
  return most != 0 && slots_taken(kLimitedType) >= most;
}

bool Model::has_keys(const std::string& queue) const {
  return limits_of(queue).per_key != 0;
}

/// The first job that may run of the next key that has a free slot.
JobId Model::next_in_turn() const {
  const std::uint32_t most = limits_of(kThrottledQueue).per_key;
  for (const std::string& key : turns_) {
    if (!key.empty() && slots_of_key(key) >= most) continue;
    for (const JobId id : in_order(JobState::kReady, kThrottledQueue)) {
      const ModelJob& job = facts.jobs.at(id);
      if (job.features.key == key && !is_passed_over(job)) return id;
    }
  }
  return 0;
}

/// The job has come into line. If it is the only one of its key there, the key comes last.
void Model::note_ready(const ModelJob& job) {
  if (job.queue != kThrottledQueue) return;
  const bool has_others = std::any_of(facts.jobs.begin(), facts.jobs.end(), [&](const auto& entry) {
    const ModelJob& other = entry.second;
    return &other != &job && other.queue == kThrottledQueue && other.state == JobState::kReady &&
           other.features.key == job.features.key;
  });
  if (!has_others) note_turn(job.features.key);
}

void Model::note_turn(const std::string& key) {
  std::erase(turns_, key);
  turns_.push_back(key);
}

/// Keys come into the order of their first jobs.
void Model::line_up() {
  turns_.clear();
  for (const JobId id : in_order(JobState::kReady, kThrottledQueue)) {
    const std::string& key = facts.jobs.at(id).features.key;
    if (std::find(turns_.begin(), turns_.end(), key) == turns_.end()) turns_.push_back(key);
  }
}

/// The queue may hand out a job to that client, if it has one.
bool Model::is_open(const std::string& queue, ClientNumber number) const {
  const ModelLimits limits = limits_of(queue);
  if (limits.concurrency != 0 && slots_taken(queue) >= limits.concurrency) return false;
  if (limits.worker == 0) return true;
  const Client& client = clients_.at(number);
  const auto own = std::count_if(facts.jobs.begin(), facts.jobs.end(), [&](const auto& entry) {
    const ModelJob& job = entry.second;
    if (job.queue != queue || job.state != JobState::kReserved || job.aged.contains(queue))
      return false;
    return client.is_worker ? job.client == 0 && job.wid == client.wid : job.client == number;
  });
  return static_cast<std::uint64_t>(own) < limits.worker;
}

/// Where a job has run for too long, its slot becomes free.
void Model::look_at_slots(Time now) {
  const LimitsByName all = all_limits();
  if (all.empty()) return;
  for (auto& [id, job] : facts.jobs) {
    if (job.state != JobState::kReserved) continue;
    for (const auto& [name, limits] : all) {
      if (job.reserved_at + limits.timeout <= now) job.aged.insert(name);
    }
  }
}

/// Those that wait already come first: also where a slot has become free.
void Model::serve_waiting(Time now) {
  if (!all_limits().empty()) {
    look_at_slots(now);
    unserved_.insert(kThrottledQueue);
  }
  for (const std::string& queue : std::exchange(unserved_, {})) serve(queue, now);
}

}  // namespace millrace::simulation
