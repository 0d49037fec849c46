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
  dropping_.clear();
  start_ends_ = {};
  for (const auto& [id, job] : facts.jobs) {
    const bool is_of_worker = job.state == JobState::kReserved && job.client == 0;
    if (is_of_worker) start_ends_ = now + 10 * kWorkerTimeout;
    if (is_of_worker && !job.wid.empty())
      gone_[job.wid] = {.lost_at = start_ends_, .noted_at = now};
  }
}

bool Model::is_connected(const std::string& wid) const {
  return std::any_of(clients_.begin(), clients_.end(),
                     [&](const auto& entry) { return entry.second.wid == wid; });
}

/// Whether it had sent a BEAT. What it does next is as that of a new worker.
bool Model::forget_beats(const std::string& wid) {
  dropping_.erase(wid);
  return beating_.erase(wid) > 0;
}

/// A connection has closed. By the last one a worker is lost that has sent a BEAT, and opened no
/// other connection since one had closed.
void Model::note_gone(const std::string& wid, Time now) {
  if (wid.empty()) return;
  if (is_connected(wid)) {
    dropping_.insert(wid);
    return;
  }
  const bool has_beaten = forget_beats(wid);
  Time lost_at = now + kWorkerTimeout;
  if (!has_beaten) lost_at = std::max(lost_at, start_ends_);
  gone_[wid] = {.lost_at = lost_at, .noted_at = now, .has_beaten = has_beaten};
}

bool Model::is_lost(const ModelJob& job, Time now) const {
  if (!brings_back_lost_ || job.state != JobState::kReserved || job.client != 0) return false;
  const auto gone = gone_.find(job.wid);
  if (gone == gone_.end() || gone->second.lost_at > now) return false;
  return gone->second.has_beaten || job.holder_beats;
}

/// The last run that was taken from the worker; null: there is none.
ModelAttempt* Model::taken_from(const std::string& wid, ModelJob& job) {
  const auto found =
      std::find_if(job.attempts.rbegin(), job.attempts.rend(), [&](const ModelAttempt& attempt) {
        return attempt.wid == wid &&
               (attempt.end == AttemptEnd::kWorkerLost || attempt.end == AttemptEnd::kEndedLate ||
                attempt.end == AttemptEnd::kExpired);
      });
  return found == job.attempts.rend() ? nullptr : &*found;
}

/// A worker from which runs were taken has no say in what others run.
Model::Meant Model::meant_by(ClientNumber client, const std::string& jid) {
  const std::string& wid = clients_.at(client).wid;
  Meant meant;
  for (auto& [id, job] : facts.jobs) {
    if (jid_of(id, job) != jid) continue;
    const bool is_run = job.state == JobState::kReserved && job.client == 0;
    const ModelAttempt* const taken = taken_from(wid, job);
    if (is_run && job.wid == wid) return {.held = id};
    if (is_run && meant.held == 0) meant.held = id;
    if (is_run && taken != nullptr) meant.overtaken = id;
    const bool waits = job.state != JobState::kReserved;
    if (waits && taken != nullptr && taken == &job.attempts.back()) meant.late = id;
  }
  if (meant.late != 0) return {.late = meant.late};
  if (meant.overtaken != 0) return {.overtaken = meant.overtaken};
  return takers_.contains(wid) ? Meant{} : meant;
}

void Model::acknowledge(ClientNumber client, const Meant& meant, Time now) {
  if (meant.overtaken != 0 && takes_longer()) {
    ModelJob& job = facts.jobs.at(meant.overtaken);
    ModelAttempt* const taken = taken_from(clients_.at(client).wid, job);
    if (taken->end == AttemptEnd::kWorkerLost) taken->end = AttemptEnd::kEndedLate;
  }
  const JobId id = meant.late != 0 ? meant.late : meant.held;
  if (id == 0) return;
  ++facts.processed;
  end(id, End::kSucceeded, now);
}

/// It is ready again; but dead, when it has lost so many workers in a row.
void Model::bring_back_lost(Time now) {
  if (!takes_longer()) return;
  for (const JobId id : in_order(JobState::kReserved, "")) {
    ModelJob& job = facts.jobs.at(id);
    if (!is_lost(job, now) || !has_moved(id, job)) continue;
    takers_.insert(job.wid);
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
