#include <algorithm>

#include "simulation/model/model.hpp"

/// Workers that are gone, and their jobs.
namespace millrace::simulation {
namespace {

constexpr Duration kWorkerTimeout = 60s;
constexpr std::size_t kPoisonAfter = 3;

/// The server looks for lost workers once a second.
constexpr Duration kLookMargin = 2s;

}  // namespace

/// Whoever held a job before may come back.
void Model::set_worker_rules(Time now) {
  brings_back_lost_ = true;
  gone_.clear();
  beating_.clear();
  for (const auto& [id, job] : facts.jobs) {
    const bool is_of_worker = job.state == JobState::kReserved && job.client == 0;
    if (is_of_worker && !job.wid.empty())
      gone_[job.wid] = {.lost_at = now + kWorkerTimeout, .noted_at = now};
  }
}

bool Model::is_connected(const std::string& wid) const {
  return std::any_of(clients_.begin(), clients_.end(),
                     [&](const auto& entry) { return entry.second.wid == wid; });
}

/// Its last connection has closed, or the server has sent it away.
void Model::note_gone(const std::string& wid, Time lost_at, Time now) {
  if (wid.empty() || is_connected(wid)) return;
  beating_.erase(wid);
  gone_[wid] = {.lost_at = lost_at, .noted_at = now};
}

bool Model::is_lost(const ModelJob& job, Time now) const {
  if (!brings_back_lost_ || job.state != JobState::kReserved || job.client != 0) return false;
  const auto gone = gone_.find(job.wid);
  return gone != gone_.end() && gone->second.lost_at <= now;
}

bool Model::has_lost(ClientNumber client, const ModelJob& job) const {
  const std::string& wid = clients_.at(client).wid;
  return job.wid != wid &&
         std::any_of(job.attempts.begin(), job.attempts.end(), [&](const ModelAttempt& attempt) {
           return attempt.end == AttemptEnd::kWorkerLost && attempt.wid == wid;
         });
}

/// It is ready again; but dead, when it has lost so many workers in a row.
void Model::bring_back_lost(Time now) {
  if (!takes_longer()) return;
  for (const JobId id : in_order(JobState::kReserved, "")) {
    ModelJob& job = facts.jobs.at(id);
    if (!is_lost(job, now) || !has_moved(id, job)) continue;
    std::size_t in_a_row = 1;
    for (auto it = job.attempts.rbegin(); it != job.attempts.rend(); ++it, ++in_a_row) {
      // One with a failure was its death, and somebody has retried it since.
      const bool was_death = it->is_told_by_failure || !it->message.empty();
      if (it->end != AttemptEnd::kWorkerLost || was_death) break;
    }
    if (in_a_row >= kPoisonAfter) {
      fail(id, AttemptEnd::kWorkerLost, "3 workers in a row were lost while they ran this job",
           now);
    } else {
      note_attempt(job, {.end = AttemptEnd::kWorkerLost}, now);
      make_ready(id, now);
    }
  }
}

bool Model::has_lost_job(Time now) const {
  if (!takes_longer()) return false;
  return std::any_of(facts.jobs.begin(), facts.jobs.end(), [&](const auto& entry) {
    const ModelJob& job = entry.second;
    return is_lost(job, now - kLookMargin) && gone_.at(job.wid).noted_at + kLookMargin <= now;
  });
}

}  // namespace millrace::simulation
