#include <algorithm>
#include <utility>

#include "simulation/model/model.hpp"

/// The limits of a queue.
namespace millrace::simulation {
namespace {

constexpr Duration kGrace = 60s;

}  // namespace

void Model::set_limits(const ModelLimits& limits, Time now) {
  limits_ = limits;
  grace_end_ = now + kGrace;
  line_up();
  look_at_slots(now);
}

bool Model::set_limits_by_hand(const ModelLimits& limits, Time now) {
  if (!takes_longer()) return false;
  const ModelLimits before = limits_of(kThrottledQueue);
  const bool has_same_keys = (limits.per_key != 0) == (before.per_key != 0);
  facts.limits_by_hand = limits;
  if (!has_same_keys) line_up();
  if (has_same_keys && limits.timeout == before.timeout) return true;
  for (auto& [id, job] : facts.jobs) job.is_aged = false;
  look_at_slots(now);
  return true;
}

ModelLimits Model::limits_of(const std::string& queue) const {
  if (queue != kThrottledQueue) return {};
  return facts.limits_by_hand.value_or(limits_);
}

/// Whoever holds the job is there, or may come back.
bool Model::lives(const ModelJob& job) const {
  if (job.client != 0) return clients_.contains(job.client);
  const bool is_here = std::any_of(clients_.begin(), clients_.end(),
                                   [&](const auto& entry) { return entry.second.wid == job.wid; });
  return is_here || (grace_end_ != Time{} && !left_.contains(job.wid));
}

std::uint64_t Model::slots_taken() const {
  if (!limits_of(kThrottledQueue).has_any()) return 0;
  return static_cast<std::uint64_t>(
      std::count_if(facts.jobs.begin(), facts.jobs.end(), [&](const auto& entry) {
        const ModelJob& job = entry.second;
        const bool counts = job.queue == kThrottledQueue && job.state == JobState::kReserved;
        return counts && !job.is_aged && lives(job);
      }));
}

std::uint64_t Model::slots_taken(const std::string& key) const {
  return static_cast<std::uint64_t>(
      std::count_if(facts.jobs.begin(), facts.jobs.end(), [&](const auto& entry) {
        const ModelJob& job = entry.second;
        const bool counts = job.queue == kThrottledQueue && job.state == JobState::kReserved;
        return counts && job.features.key == key && !job.is_aged && lives(job);
      }));
}

bool Model::has_keys(const std::string& queue) const {
  return limits_of(queue).per_key != 0;
}

/// The first job of the next key that has a free slot.
JobId Model::next_in_turn() const {
  const std::uint32_t most = limits_of(kThrottledQueue).per_key;
  for (const std::string& key : turns_) {
    if (!key.empty() && slots_taken(key) >= most) continue;
    for (const JobId id : in_order(JobState::kReady, kThrottledQueue)) {
      if (facts.jobs.at(id).features.key == key) return id;
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
  if (limits.concurrency != 0 && slots_taken() >= limits.concurrency) return false;
  if (limits.worker == 0) return true;
  const Client& client = clients_.at(number);
  const auto own = std::count_if(facts.jobs.begin(), facts.jobs.end(), [&](const auto& entry) {
    const ModelJob& job = entry.second;
    if (job.queue != queue || job.state != JobState::kReserved || job.is_aged) return false;
    return client.is_worker ? job.client == 0 && job.wid == client.wid : job.client == number;
  });
  return static_cast<std::uint64_t>(own) < limits.worker;
}

/// Where a job has run for too long, or its worker has not come back, its slot becomes free.
void Model::look_at_slots(Time now) {
  const ModelLimits limits = limits_of(kThrottledQueue);
  if (!limits.has_any()) return;
  if (grace_end_ <= now) grace_end_ = Time{};
  for (auto& [id, job] : facts.jobs) {
    if (job.queue != kThrottledQueue || job.state != JobState::kReserved) continue;
    if (job.reserved_at + limits.timeout <= now) job.is_aged = true;
  }
}

/// Those that wait already come first: also where a slot has become free.
void Model::serve_waiting(Time now) {
  if (limits_of(kThrottledQueue).has_any()) {
    look_at_slots(now);
    unserved_.insert(kThrottledQueue);
  }
  for (const std::string& queue : std::exchange(unserved_, {})) serve(queue, now);
}

/// Its last connection has gone.
void Model::note_departure(const std::string& wid) {
  const bool is_here = std::any_of(clients_.begin(), clients_.end(),
                                   [&](const auto& entry) { return entry.second.wid == wid; });
  if (!is_here) left_.insert(wid);
}

}  // namespace millrace::simulation
