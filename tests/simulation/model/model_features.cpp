#include <algorithm>
#include <utility>

#include "simulation/model/model.hpp"

/// Locks, times and tracks of jobs.
namespace millrace::simulation {

bool Model::mark_error(std::uint64_t error, const ModelMark& mark, Time now) {
  if (mark.note.empty() && mark.muted_below == 0 && mark.muted_until <= now) {
    facts.marks.erase(error);
    return true;
  }
  const auto known = facts.marks.find(error);
  const bool is_longer = known == facts.marks.end() || mark.note.size() > known->second.note.size();
  if (is_longer && !takes_longer()) return false;
  facts.marks[error] = mark;
  return true;
}

bool Model::save_view(const std::string& name, const std::string& query) {
  if (query.empty()) return facts.views.erase(name) > 0;
  if (!takes_longer()) return false;
  facts.views[name] = query;
  return true;
}

bool Model::add_token(const std::string& name, Time expires_at, Time now) {
  const auto known = facts.tokens.find(name);
  if (known != facts.tokens.end() && known->second > wall(now)) return false;
  if (!takes_longer()) return false;
  facts.tokens[name] = expires_at;
  return true;
}

namespace {

constexpr Duration kTrackLifetime = 30min;
constexpr Duration kReservedMost = 24h;

std::string track_state(JobState state) {
  switch (state) {
    case JobState::kReserved:
      return "working";
    case JobState::kRetrying:
      return "failed";
    case JobState::kDead:
      return "dead";
    default:
      return "enqueued";
  }
}

}  // namespace

// ---- pushes -------------------------------------------------------------------------------------

/// Times count from the push, or from when the job is due.
ModelFeatures Model::features_of(const JobText& job, Time now) const {
  const JobWishes& wishes = job.wishes;
  const Time first_run = std::max(job.at, wall(now));
  ModelFeatures features{.unique_for = wishes.unique_for,
                         .until_start = wishes.until_start,
                         .expires_at = wishes.expires_at,
                         .is_tracked = wishes.is_tracked,
                         .key = wishes.key,
                         .batch = wishes.batch,
                         .role = wishes.role};
  if (wishes.unique_for != Duration{}) {
    features.lock = job.type + " " + job.queue + " " + std::to_string(wishes.unique);
    features.lock_ends = first_run + wishes.unique_for;
  }
  if (wishes.expires_in != Duration{}) {
    const Time at = first_run + wishes.expires_in;
    const bool has_both = features.expires_at != Time{};
    features.expires_at = has_both ? std::min(features.expires_at, at) : at;
  }
  return features;
}

/// Empty: it is pushed.
std::string Model::refusal_of(const JobText& job, Time now) const {
  const JobWishes& wishes = job.wishes;
  if (!job.bid.empty() && !facts.batches.contains(wishes.batch)) return "No such batch " + job.bid;
  if (wishes.unique_for == Duration{}) return "";
  const JobId holder = lock_holder(features_of(job, now).lock, now);
  if (holder == 0) return "";
  const bool names = wishes.conflict == "jid";
  return "NOTUNIQUE Job not unique" +
         (names ? " " + jid_of(holder, facts.jobs.at(holder)) : std::string());
}

// ---- locks --------------------------------------------------------------------------------------

/// 0: the lock is free.
JobId Model::lock_holder(const std::string& lock, Time now) const {
  for (const auto& [id, job] : facts.jobs) {
    const ModelFeatures& features = job.features;
    const bool lends = job.state == JobState::kReserved && features.until_start;
    if (!features.holds_lock || lends || features.lock != lock) continue;
    if (features.lock_ends > wall(now)) return id;
  }
  return 0;
}

/// Whoever had it has it no more.
void Model::take_lock(ModelJob& job) {
  for (auto& [id, other] : facts.jobs) {
    if (other.features.lock == job.features.lock) other.features.holds_lock = false;
  }
  job.features.holds_lock = true;
}

/// It is free from the death on, and where that was asked for, others may take it from the start
/// on. A dead job that comes back takes it anew, whatever becomes of it then. One that was not run
/// after all has it still, or takes it back when it is free again.
void Model::follow_lock(ModelJob& job, JobState former, Time now) {
  ModelFeatures& features = job.features;
  const bool has_run = former == JobState::kReserved && job.state == JobState::kRetrying;
  if (job.state == JobState::kDead || (has_run && features.until_start))
    features.holds_lock = false;
  const bool is_dead = job.state == JobState::kDead;
  if (is_dead || features.holds_lock || lock_holder(features.lock, now) != 0) return;
  const bool is_back = job.state == JobState::kReady || job.state == JobState::kScheduled;
  if (former == JobState::kDead) {
    const bool is_later = job.state == JobState::kScheduled;
    features.lock_ends = wall(is_later ? due_of(job) : now) + features.unique_for;
    take_lock(job);
  } else if (is_back && former == JobState::kReserved && features.until_start &&
             features.lock_ends > wall(now)) {
    take_lock(job);
  }
}

bool Model::may_come_back(const ModelJob& job, Time now) const {
  if (job.state != JobState::kDead || job.features.lock.empty()) return true;
  return lock_holder(job.features.lock, now) == 0;
}

// ---- times --------------------------------------------------------------------------------------

void Model::clear_front(std::string queue, Time now) {
  for (;;) {
    const JobId first = first_of({queue}, now);
    if (first == 0) return;
    const ModelJob& job = facts.jobs.at(first);
    if (!job.features.has_expired(wall(now))) return;
    if (!has_moved(first, job)) break;
    end(first, End::kExpired, now);
  }
  // A look removes a few only, and the rest hide what is behind them.
  stuck_.insert(queue);
}

/// Jobs that run, and dead ones, are left alone.
void Model::remove_expired(Time now) {
  if (!has_expiring_) return;
  for (const JobState state : {JobState::kReady, JobState::kScheduled, JobState::kRetrying}) {
    for (const JobId id : in_order(state, "")) {
      const ModelJob& job = facts.jobs.at(id);
      if (job.features.has_expired(wall(now)) && has_moved(id, job)) end(id, End::kExpired, now);
    }
  }
}

// ---- tracks -------------------------------------------------------------------------------------

const ModelJob* Model::tracked_job(const std::string& jid) const {
  for (const auto& [id, job] : facts.jobs) {
    if (job.features.is_tracked && jid_of(id, job) == jid) return &job;
  }
  return nullptr;
}

void Model::end_track(JobId id, const ModelJob& job, End how, Time now) {
  const std::string jid = jid_of(id, job);
  // On a full disk nothing is remembered.
  if (!takes_longer()) {
    facts.tracks.erase(jid);
    return;
  }
  ModelTrack& track = facts.tracks[jid];
  if (!track.end.empty()) track = {};
  track.end = how == End::kSucceeded ? "success" : how == End::kFailed ? "failed" : "dead";
  track.updated_at = now;
}

/// FLUSH forgets all, and asks for none.
void Model::note_end_of_push(const ModelJob& job, Time now) {
  if (push_memory_ > Duration{} && takes_longer()) facts.ended_pushes[{job.name, job.queue}] = now;
}

/// FLUSH notes none of those that it removes, and forgets none. On a full disk nothing is noted.
void Model::note_finished(JobId id, const ModelJob& job, End how, Time now) {
  if (finished_max_ == 0 || !takes_longer()) return;
  std::deque<ModelFinished>& finished = facts.finished;
  const bool was_held = job.state == JobState::kReserved;
  const bool is_late = how == End::kSucceeded && !was_held;
  finished.push_back({.id = id,
                      .queue = job.queue,
                      .how = how,
                      .ended_at = now,
                      .wid = is_late                       ? job.attempts.back().wid
                             : was_held && job.client == 0 ? job.wid
                                                           : ""});
  while (finished.size() > finished_max_ &&
         finished.front().ended_at < finished[finished.size() - finished_max_].ended_at) {
    finished.pop_front();
  }
}

void Model::forget_old_pushes(Time now) {
  std::erase_if(facts.ended_pushes,
                [&](const auto& entry) { return entry.second + push_memory_ <= now; });
}

void Model::remove_old_tracks(Time now) {
  std::erase_if(facts.tracks, [&](const auto& entry) {
    const ModelTrack& track = entry.second;
    return !track.end.empty() && track.updated_at + kTrackLifetime <= now;
  });
}

void Model::set_track(ClientNumber client, const Command& command, Time now) {
  const bool is_known = facts.tracks.contains(command.name) || tracked_job(command.name) != nullptr;
  if (!takes_longer() || (!is_known && admission_ != Admission::kEverything)) {
    return expect_parts(client, {"-ERR server is out of space", "\r\n"});
  }
  ModelTrack& track = facts.tracks[command.name];
  if (!is_known) track.end = "unknown";
  track.updated_at = now;
  if (command.percent) track.percent = command.percent;
  if (command.desc) track.desc = *command.desc;
  lengthen(client, command, now);
  expect(client, "+OK\r\n");
}

/// No job is reserved for a shorter time than before.
void Model::lengthen(ClientNumber client, const Command& command, Time now) {
  if (command.reserve_until == Time{}) return;
  const JobId held = meant_by(client, command.name).held;
  for (auto& [id, job] : facts.jobs) {
    if (job.state != JobState::kReserved || jid_of(id, job) != command.name) continue;
    if (id != held && !job.features.is_tracked) continue;
    const Time until = std::min(command.reserve_until - wall_ahead_, now + kReservedMost);
    if (until <= job.due) continue;
    job.due = until;
    job.is_lengthened = true;
  }
}

void Model::expect_track(ClientNumber client, const std::string& jid) {
  const ModelJob* const job = tracked_job(jid);
  const auto found = facts.tracks.find(jid);
  const ModelTrack track = found == facts.tracks.end() ? ModelTrack{} : found->second;
  std::string json = R"({"jid":")" + jid + '"';
  if (track.percent) json += R"(,"percent":)" + std::to_string(*track.percent);
  if (!track.desc.empty()) json += R"(,"desc":")" + track.desc + '"';
  const bool is_known = job != nullptr || found != facts.tracks.end();
  const std::string end = track.end.empty() ? "unknown" : track.end;
  json += R"(,"state":")" + (job != nullptr ? track_state(job->state) : end) +
          R"(","updated_at":")" + (is_known ? "" : "\"}\r\n");
  expect_parts(client, {"$", json});
}

}  // namespace millrace::simulation
