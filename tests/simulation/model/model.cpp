#include "simulation/model/model.hpp"

#include <algorithm>
#include <utility>

namespace millrace::simulation {
namespace {

using std::chrono::seconds;

constexpr Duration kDeadlineMargin = 1s;
constexpr Duration kDeadLifetime = 180 * 24h;
constexpr Duration kSilenceMax = 60s;

}  // namespace

// ---- replies ------------------------------------------------------------------------------------

bool matches(const std::string& reply, const Expected& expected) {
  if (expected.parts.size() == 1) return reply == expected.parts.front();
  if (!reply.starts_with(expected.parts.front())) return false;
  std::size_t at = 0;
  for (const std::string& part : expected.parts) {
    at = reply.find(part, at);
    if (at == std::string::npos) return false;
    at += part.size();
  }
  return true;
}

std::string text_of(const Expected& expected) {
  std::string text;
  for (const std::string& part : expected.parts) text += (text.empty() ? "" : " ... ") + part;
  return text;
}

// ---- reading ------------------------------------------------------------------------------------

std::vector<JobId> Model::in_order(JobState state, const std::string& queue) const {
  std::vector<std::pair<const ModelJob*, JobId>> jobs;
  for (const auto& [id, job] : facts.jobs) {
    if (job.state == state && (queue.empty() || job.queue == queue)) jobs.emplace_back(&job, id);
  }
  std::sort(jobs.begin(), jobs.end(), [&](const auto& a, const auto& b) {
    const ModelJob& x = *a.first;
    const ModelJob& y = *b.first;
    if (state == JobState::kReady) return std::tie(x.pri, x.sequence) < std::tie(y.pri, y.sequence);
    return std::pair(due_of(x), a.second) < std::pair(due_of(y), b.second);
  });
  std::vector<JobId> ids;
  for (const auto& [job, id] : jobs) ids.push_back(id);
  return ids;
}

Time Model::due_of(const ModelJob& job) const {
  const bool is_of_wall = job.follows_wall && job.state == JobState::kScheduled;
  return is_of_wall ? job.due - wall_ahead_ : job.due;
}

bool Model::exists(const std::string& queue) const {
  return is_needed(queue) || restored_.contains(queue);
}

bool Model::is_needed(const std::string& queue) const {
  const auto pause = facts.pauses.find(queue);
  if (queue == "default" || facts.kept.contains(queue)) return true;
  if (pause != facts.pauses.end() && pause->second == kNever) return true;
  for (const auto& [id, job] : facts.jobs) {
    if (job.queue == queue) return true;
  }
  const auto names = [&](const std::vector<std::string>& queues) {
    return std::find(queues.begin(), queues.end(), queue) != queues.end();
  };
  return std::any_of(clients_.begin(), clients_.end(), [&](const auto& entry) {
    const Client& client = entry.second;
    return client.used == queue || names(client.watched) ||
           (client.wait && names(client.wait->queues));
  });
}

bool Model::is_paused(const std::string& queue, Time now) const {
  const auto pause = facts.pauses.find(queue);
  return pause != facts.pauses.end() && now < pause->second;
}

Time Model::second_pause_end() const {
  std::vector<Time> ends{kNever, kNever};
  bool may_end_again = false;  // with what makes a queue kept, its pause is written once more
  for (const auto& [queue, until] : facts.pauses) {
    if (until > ticked_at_) ends.push_back(until);
    may_end_again = may_end_again || (until <= ticked_at_ && !facts.kept.contains(queue));
  }
  if (may_end_again) ends.push_back(ticked_at_);
  std::sort(ends.begin(), ends.end());
  return ends[1];
}

bool Model::is_waiting(ClientNumber client) const {
  const Client& self = clients_.at(client);
  const auto is_of = [&](const Task& task) { return task.client == client; };
  const bool is_late = !self.expected.empty() && self.expected.back().may_be_late;
  return self.wait || is_late || std::any_of(tasks_.begin(), tasks_.end(), is_of);
}

bool Model::is_overdue(Time now) const {
  if (!departed_.empty() || !tasks_.empty() || has_lost_job(now)) return true;
  for (const auto& [number, batch] : facts.batches) {
    for (const auto& [role, callback] : batch.callbacks) {
      if (takes_longer() && is_due(number, role)) return true;
    }
  }
  return std::any_of(facts.jobs.begin(), facts.jobs.end(), [&](const auto& entry) {
    const JobState state = entry.second.state;
    const bool waits = state != JobState::kReserved && state != JobState::kDead;
    if (waits && entry.second.features.has_expired(wall(now))) return true;
    return state != JobState::kReady && state != JobState::kDead && due_of(entry.second) <= now;
  });
}

bool Model::is_deadline_soon(ClientNumber client, Time now) const {
  return std::any_of(facts.jobs.begin(), facts.jobs.end(), [&](const auto& entry) {
    const ModelJob& job = entry.second;
    return job.state == JobState::kReserved && job.client == client &&
           job.due - kDeadlineMargin <= now;
  });
}

ModelJob* Model::find(JobId id) {
  const auto found = facts.jobs.find(id);
  return found == facts.jobs.end() ? nullptr : &found->second;
}

ModelJob* Model::held(ClientNumber client, JobId id) {
  ModelJob* const job = find(id);
  const bool is_held = job != nullptr && job->state == JobState::kReserved && job->client == client;
  return is_held ? job : nullptr;
}

/// The next job of the first of these groups of queues that has one.
JobId Model::choose(ClientNumber client, const QueueGroups& groups, Time now) {
  const auto look = [&] {
    JobId id = 0;
    for (auto group = groups.begin(); id == 0 && group != groups.end(); ++group) {
      id = next_of(client, *group, now);
    }
    return id;
  };
  serve_waiting(now);
  const JobId id = look();
  // Members have expired, here or earlier in this turn, and what that made due may be the job.
  return push_callbacks(now) ? look() : id;
}

/// The next job of these queues, once expired ones are gone from their fronts.
JobId Model::next_of(ClientNumber client, const std::vector<std::string>& queues, Time now) {
  stuck_.clear();
  for (const std::string& queue : queues) {
    const bool is_closed = queue == kThrottledQueue && !is_open(queue, client);
    if (is_closed) stuck_.insert(queue);
    if (has_expiring_ && !is_closed && !is_paused(queue, now)) clear_front(queue, now);
  }
  return first_of(queues, now);
}

/// The smallest (pri, sequence) of all these queues; 0: none is ready.
JobId Model::first_of(const std::vector<std::string>& queues, Time now) const {
  JobId best = 0;
  const bool has_turns = has_keys(kThrottledQueue);
  const JobId in_turn = has_turns ? next_in_turn() : 0;
  for (const auto& [id, job] : facts.jobs) {
    if (job.state != JobState::kReady || is_paused(job.queue, now)) continue;
    if (has_turns && job.queue == kThrottledQueue && id != in_turn) continue;
    if (is_passed_over(job)) continue;
    if (stuck_.contains(job.queue)) continue;
    if (std::find(queues.begin(), queues.end(), job.queue) == queues.end()) continue;
    if (best == 0) best = id;
    const ModelJob& other = facts.jobs.at(best);
    if (std::tie(job.pri, job.sequence) < std::tie(other.pri, other.sequence)) best = id;
  }
  return best;
}

std::optional<Expected> Model::take_expected(ClientNumber client) {
  std::deque<Expected>& expected = clients_.at(client).expected;
  if (expected.empty()) return std::nullopt;
  Expected next = std::move(expected.front());
  expected.pop_front();
  return next;
}

void Model::postpone(ClientNumber client, Expected expected) {
  clients_.at(client).expected.push_front(std::move(expected));
}

// ---- jobs ---------------------------------------------------------------------------------------

/// Callbacks of batches are pushed by the server itself, and have numbers too.
JobId Model::draw_id(Time now) {
  push_callbacks(now);
  return facts.next_id++;
}

/// `state` and `due` say whether it is for now or for later.
void Model::add(const ModelJob& job, Time now) {
  const JobId id = draw_id(now);
  ModelJob& added = facts.jobs[id] = job;
  // It is not in line before it has its lock.
  added.state = JobState::kScheduled;
  if (!added.features.lock.empty()) take_lock(added);
  has_expiring_ = has_expiring_ || added.features.expires_at != Time{};
  if (added.features.batch != 0) join_batch(added.features, now);
  added.sequence = id;
  if (due_of(added) > now) return;
  added.state = JobState::kReady;
  note_ready(added);
  added.due = Time{};
  if (added.is_pushed) facts.kept.insert(added.queue);
  if (added.features.has_expired(wall(now))) {
    unserved_.insert(job.queue);
  } else {
    serve(job.queue, now);
  }
}

void Model::make_ready(JobId id, Time now) {
  ModelJob& job = facts.jobs.at(id);
  const Sequence sequence = job.is_pushed ? draw_id(now) : id;
  enter(job, JobState::kReady, now);
  job.due = Time{};
  job.client = 0;
  job.sequence = sequence;
  if (job.is_pushed) facts.kept.insert(job.queue);
  serve(job.queue, now);
}

/// No two die at the same time.
void Model::make_dead(JobId id, Time now) {
  ModelJob& job = facts.jobs.at(id);
  Time when = now;
  for (const auto& [other, each] : facts.jobs) {
    if (each.state == JobState::kDead) when = std::max(when, each.due + Duration{1});
  }
  enter(job, JobState::kDead, now);
  job.due = when;
  job.client = 0;
}

/// In the place that its age and priority give it there. All else of it stays.
void Model::change_queue(JobId id, const std::string& to, Time now) {
  ModelJob& job = facts.jobs.at(id);
  job.queue = to;
  if (job.state != JobState::kReady) return;
  note_ready(job);
  if (job.is_pushed) facts.kept.insert(to);
  serve(to, now);
}

/// The job comes into that state, and what it has to do with locks and batches follows.
void Model::enter(ModelJob& job, JobState state, Time now) {
  const JobState former = std::exchange(job.state, state);
  ModelFeatures& features = job.features;
  if (!features.lock.empty()) follow_lock(job, former, now);
  // A change does not cost a key its turn.
  if (state == JobState::kReady && former != JobState::kReady) note_ready(job);
  const bool is_dead = state == JobState::kDead;
  const bool has_failed =
      is_dead || (former == JobState::kReserved && state == JobState::kRetrying);
  if (features.batch == 0 || !features.role.empty() || !has_failed) return;
  features.has_run = features.has_failed = true;
  const auto batch = facts.batches.find(features.batch);
  if (is_dead && batch != facts.batches.end()) batch->second.has_death = true;
}

/// The job is gone.
void Model::end(JobId id, End how, Time now) {
  const ModelJob job = facts.jobs.at(id);
  facts.jobs.erase(id);
  if (job.features.is_tracked) end_track(id, job, how, now);
  if (job.is_pushed) note_end_of_push(job, now);
  note_finished(id, job, how, now);
  if (job.features.batch != 0) end_in_batch(id, job, how);
}

void Model::hand_out(ClientNumber client, JobId id, Time now) {
  ModelJob& job = facts.jobs.at(id);
  const Client& holder = clients_.at(client);
  const HandedOut handed_out{.id = id,
                             .pri = job.pri,
                             .failures = job.failures,
                             .was_ready = job.state == JobState::kReady,
                             .at = now};
  job.state_before = job.state;
  job.due_before = job.due;
  job.held_lock_before = job.features.holds_lock;
  job.lock_ends_before = job.features.lock_ends;
  enter(job, JobState::kReserved, now);
  if (job.queue == kThrottledQueue) note_turn(job.features.key);
  job.due = now + seconds(job.ttr_s);
  job.is_lengthened = false;
  job.aged.clear();
  job.reserved_at = now;
  job.client = holder.is_worker ? 0 : client;
  job.wid = holder.wid;
  job.holder_beats = beating_.contains(holder.wid);
  if (holder.is_worker) takers_.insert(holder.wid);
  expect_job(client, holder.is_worker ? "$" : "RESERVED", id);
  clients_.at(client).expected.back().handed_out = handed_out;
}

/// Ready jobs are delivered to the client that has waited for longest.
void Model::serve(std::string queue, Time now) {
  for (;;) {
    ClientNumber first = 0;
    for (const auto& [number, client] : clients_) {
      if (!client.wait) continue;
      const std::vector<std::string>& queues = client.wait->queues;
      if (std::find(queues.begin(), queues.end(), queue) == queues.end()) continue;
      if (queue == kThrottledQueue && !is_open(queue, number)) continue;
      if (first == 0 || client.wait->ticket < clients_.at(first).wait->ticket) first = number;
    }
    if (first == 0) return;
    const JobId id = next_of(first, {queue}, now);
    if (id == 0) return;
    clients_.at(first).wait.reset();
    hand_out(first, id, now);
    forget_unused();  // that client waited for other queues too
  }
}

/// 0 retries: dropped. Fewer: dead. Else tried again after count^4 + 15 s and up to 29 (count + 1)
/// s more, until it was retried so often.
void Model::fail(JobId id, AttemptEnd end, const std::string& message, Time now) {
  ++facts.processed;
  ++facts.failed;
  ModelJob& job = facts.jobs.at(id);
  const bool is_lost = end == AttemptEnd::kWorkerLost;
  if (job.retry == 0 && !is_lost) return this->end(id, End::kFailed, now);
  note_attempt(job, {.end = end, .is_told_by_failure = true}, now);
  job.error = takes_longer() ? message : "";
  const std::int64_t count = job.failures++;
  if (count >= job.retry || is_lost) return make_dead(id, now);
  enter(job, JobState::kRetrying, now);
  job.due = now + seconds(count * count * count * count + 15);
  job.due_latest = job.due + seconds(29 * (count + 1));
}

/// The last ten are remembered, but for those that end while the log must not grow.
void Model::note_attempt(ModelJob& job, const ModelAttempt& attempt, Time now) {
  if (!takes_longer()) return;
  for (ModelAttempt& before : job.attempts) {
    if (!attempt.is_told_by_failure || !std::exchange(before.is_told_by_failure, false)) continue;
    before.message = job.error;
  }
  job.attempts.push_back(attempt);
  job.attempts.back().began = job.reserved_at;
  job.attempts.back().ended = now;
  job.attempts.back().wid = job.client == 0 ? job.wid : "";
  if (job.attempts.size() > 10) job.attempts.erase(job.attempts.begin());
}

void Model::expire(JobId id, Time now) {
  if (facts.jobs.at(id).client == 0) {
    takers_.insert(facts.jobs.at(id).wid);
    fail(id, AttemptEnd::kExpired, "Faktory job reservation expired", now);
  } else {
    note_attempt(facts.jobs.at(id), {.end = AttemptEnd::kTimedOut}, now);
    make_ready(id, now);
  }
}

void Model::pause(const std::string& queue, Time until, Time now) {
  if (until <= now && !facts.pauses.contains(queue)) return;
  facts.pauses.erase(queue);
  restored_.erase(queue);
  if (until > now) facts.pauses.emplace(queue, until);
  serve(queue, now);
}

/// A queue that nobody needs is gone, and its pause with it.
void Model::forget_unused() {
  std::erase_if(restored_, [&](const std::string& queue) { return is_needed(queue); });
  std::erase_if(facts.pauses, [&](const auto& entry) { return !exists(entry.first); });
}

// ---- events -------------------------------------------------------------------------------------

void Model::connect_beanstalk(ClientNumber client) {
  clients_[client].used = "default";
  clients_[client].watched = {"default"};
}

/// A worker's further connections are no sign of life.
void Model::connect_worker(ClientNumber client, const std::string& wid, Time now) {
  const bool is_known = std::any_of(clients_.begin(), clients_.end(),
                                    [&](const auto& entry) { return entry.second.wid == wid; });
  if (!is_known) beats_[wid] = now;
  if (dropping_.erase(wid) > 0) beating_.erase(wid);
  gone_.erase(wid);
  clients_[client].is_worker = true;
  clients_[client].wid = wid;
}

void Model::execute(ClientNumber client, const Command& command, Time now) {
  if (clients_.at(client).is_worker) {
    execute_worker(client, command, now);
  } else if (!execute_held(client, command, now)) {
    execute_beanstalk(client, command, now);
  }
  work_on_batches(now);
  forget_unused();
}

void Model::tick(Time now) {
  ticked_at_ = now;
  std::erase_if(restored_, [&](const std::string& queue) { return !is_paused(queue, now); });
  forget_unused();
  for (const ClientNumber client : std::set(departed_)) release_held(client, now);
  remove_expired(now);
  for (const JobState state : {JobState::kScheduled, JobState::kRetrying, JobState::kReserved}) {
    for (const JobId id : in_order(state, "")) {
      const ModelJob& job = facts.jobs.at(id);
      if (due_of(job) > now || !has_moved(id, job)) break;
      state == JobState::kReserved ? expire(id, now) : make_ready(id, now);
    }
  }
  bring_back_lost(now);
  look_at_slots(now);
  for (const std::string& queue : kQueues) serve(queue, now);
  unserved_.clear();
  for (auto& [number, client] : clients_) {
    if (!client.wait) continue;
    const bool is_soon = !client.is_worker && is_deadline_soon(number, now);
    if (!is_soon && client.wait->until > now) continue;
    client.wait.reset();
    expect(number, is_soon ? "DEADLINE_SOON\r\n" : client.is_worker ? "$-1\r\n" : "TIMED_OUT\r\n");
  }
  if (!tasks_.empty()) settle_times();
  for (Task& task : std::exchange(tasks_, {})) start(std::move(task), now);
  for (const JobId id : in_order(JobState::kDead, "")) {
    const ModelJob& job = facts.jobs.at(id);
    if (job.is_pushed && job.due + kDeadLifetime <= now) end(id, End::kGone, now);
  }
  remove_old_tracks(now);
  forget_old_pushes(now);
  // Before callbacks are pushed, which nobody gets who was sent away.
  send_away(now);
  end_batches(now);
  work_on_batches(now);
  forget_unused();
}

bool Model::evict(ClientNumber client, Time now) {
  Client& self = clients_.at(client);
  self.wait.reset();
  forget_unused();
  // A new connection of that name is that of a new worker.
  const std::string wid = std::exchange(self.wid, "");
  if (!is_connected(wid)) forget_beats(wid);
  const bool holds_job = std::any_of(facts.jobs.begin(), facts.jobs.end(), [&](const auto& entry) {
    const ModelJob& job = entry.second;
    return job.state == JobState::kReserved && job.client == 0 && !wid.empty() && job.wid == wid;
  });
  // It may have been forgotten before.
  return self.is_worker && (wid.empty() || (now - beats_.at(wid) > kSilenceMax && !holds_job));
}

bool Model::forget_worker(const std::string& wid, Time now) {
  bool may_be_forgotten = true;
  for (auto& [number, client] : clients_) {
    if (client.wid == wid) may_be_forgotten = evict(number, now) && may_be_forgotten;
  }
  return may_be_forgotten;
}

void Model::end_input(ClientNumber client) {
  Client& self = clients_.at(client);
  if (!self.wait) return;
  self.wait.reset();
  expect(client, self.is_worker ? "$-1\r\n" : "TIMED_OUT\r\n");
  forget_unused();
}

void Model::leave(ClientNumber client, const std::vector<Fetch>& unsent, Time now) {
  clients_.at(client).wait.reset();
  for (const Fetch& fetch : unsent) {
    ModelJob* const job = held(0, fetch.id);
    if (job == nullptr || job->reserved_at != fetch.reserved_at) continue;
    enter(*job, JobState::kReady, now);
    job->due = Time{};
    serve(job->queue, now);
  }
  const std::string wid = clients_.at(client).wid;
  clients_.erase(client);
  note_gone(wid, now);
  // A kick is of a connection.
  std::erase_if(tasks_, [&](const Task& task) {
    return task.client == client && task.command.verb == Verb::kKick;
  });
  for (Task& task : tasks_) {
    if (task.client == client) task.client = 0;
  }
  release_held(client, now);
  work_on_batches(now);
  forget_unused();
}

void Model::release_held(ClientNumber client, Time now) {
  departed_.insert(client);
  for (const JobId id : in_order(JobState::kReserved, "")) {
    const ModelJob& job = facts.jobs.at(id);
    if (job.client != client) continue;
    if (!has_moved(id, job)) return;
    make_ready(id, now);
  }
  departed_.erase(client);
}

/// A job that a connection held is where it was before.
void Model::restart() {
  admission_ = Admission::kEverything;
  clients_.clear();
  departed_.clear();
  tasks_.clear();
  for (auto& [id, job] : facts.jobs) {
    if (job.state != JobState::kReserved || job.client == 0) continue;
    job.state = job.state_before;
    job.due = job.due_before;
    job.client = 0;
    job.may_be_ready = true;
    if (job.state != JobState::kDead) continue;
    job.would_hold_lock = std::exchange(job.features.holds_lock, job.held_lock_before);
    job.lock_would_end = std::exchange(job.features.lock_ends, job.lock_ends_before);
  }
  gone_.clear();
  beating_.clear();
  dropping_.clear();
  takers_.clear();
  unserved_.clear();
  for (auto& [id, job] : facts.jobs) job.aged.clear();
  restored_.clear();
  for (const auto& [queue, until] : facts.pauses) {
    if (!is_needed(queue)) restored_.insert(queue);
  }
}

}  // namespace millrace::simulation
