#include <algorithm>

#include "simulation/model/model.hpp"

/// What each command does, and what it answers.
namespace millrace::simulation {
namespace {

using std::chrono::seconds;

constexpr Duration kFetchWait = 1950ms;

std::string text(std::uint64_t number) {
  return std::to_string(number);
}

std::string member(const std::string& name, const std::string& value) {
  return '"' + name + R"(":")" + value + '"';
}

}  // namespace

ModelJob pushed(const JobText& job, const ModelFeatures& features) {
  return {.name = job.name,
          .is_pushed = true,
          .type = job.type,
          .queue = job.queue,
          .pri = static_cast<Pri>(9 - job.priority) * 256,
          .ttr_s = std::max(job.reserve_for_s, 60u),
          .retry = job.retry,
          .due = job.at,
          .follows_wall = true,
          .features = features};
}

std::string jid_of(JobId id, const ModelJob& job) {
  return job.is_pushed ? job.name : "beanstalk-" + text(id);
}

// ---- replies ------------------------------------------------------------------------------------

void Model::expect_job(ClientNumber client, const std::string& word, JobId id) {
  const ModelJob& job = facts.jobs.at(id);
  const bool is_fetch = word == "$";
  const std::string start = is_fetch ? word : word + " " + text(id) + " ";
  if (!job.is_pushed && !is_fetch) {
    return expect(client, start + text(job.name.size()) + "\r\n" + job.name + "\r\n");
  }
  std::vector<std::string> parts{start, member("jid", jid_of(id, job)), member("queue", job.queue)};
  if (!job.is_pushed) parts.push_back(R"("args":[")" + job.name + R"("])");
  expect_parts(client, std::move(parts));
  if (!is_fetch) return;
  clients_.at(client).expected.back().fetched = id;
  clients_.at(client).expected.back().fetched_at = job.reserved_at;
}

/// The counters are recounted here, each time.
void Model::expect_stats(ClientNumber client, const std::string& queue) {
  if (!queue.empty() && !exists(queue)) return expect(client, "NOT_FOUND\r\n");
  const auto count = [&](JobState state) { return in_order(state, queue).size(); };
  const std::vector<JobId> ready = in_order(JobState::kReady, queue);
  const auto urgent = std::count_if(ready.begin(), ready.end(),
                                    [&](JobId id) { return facts.jobs.at(id).pri < kUrgentBelow; });
  const auto row = [](const std::string& key, std::uint64_t number) {
    return "current-jobs-" + key + ": " + text(number) + "\n";
  };
  expect_parts(
      client, {"OK ", row("urgent", static_cast<std::uint64_t>(urgent)) +
                          row("ready", ready.size()) + row("reserved", count(JobState::kReserved)) +
                          row("delayed", count(JobState::kScheduled) + count(JobState::kRetrying)) +
                          row("buried", count(JobState::kDead))});
}

void Model::expect_info(ClientNumber client) {
  const auto row = [](const std::string& key, std::uint64_t number) {
    return '"' + key + R"(":)" + text(number);
  };
  const auto count = [&](JobState state) { return in_order(state, "").size(); };
  expect_parts(
      client,
      {"$",
       row("dead", count(JobState::kDead)) + "," + row("retries", count(JobState::kRetrying)) +
           "," + row("scheduled", count(JobState::kScheduled)) + "," +
           row("working", count(JobState::kReserved)),
       row("total_failures", facts.failed) + "," + row("total_processed", facts.processed) + "," +
           row("total_enqueued", count(JobState::kReady))});
}

// ---- beanstalk ----------------------------------------------------------------------------------

/// The commands that need the client to hold the job. False: it is none of them.
bool Model::execute_held(ClientNumber client, const Command& command, Time now) {
  const bool is_release = command.verb == Verb::kRelease;
  const bool is_bury = command.verb == Verb::kBury;
  if (!is_release && !is_bury && command.verb != Verb::kTouch) return false;
  ModelJob* const job = held(client, command.id);
  if (job == nullptr) {
    expect(client, "NOT_FOUND\r\n");
    return true;
  }
  if (!is_release && !is_bury) {
    job->due = now + seconds(job->ttr_s);
    expect(client, "TOUCHED\r\n");
    return true;
  }
  if (!takes_longer() && (is_bury || command.seconds != 0)) {
    expect(client, "OUT_OF_MEMORY\r\n");
    return true;
  }
  job->pri = command.pri;
  expect(client, is_bury ? "BURIED\r\n" : "RELEASED\r\n");
  // Whatever time it was pushed with.
  if (!is_bury) job->follows_wall = false;
  if (is_bury) {
    make_dead(command.id, now);
  } else if (command.seconds == 0) {
    make_ready(command.id, now);
  } else {
    enter(*job, JobState::kScheduled, now);
    job->due = now + seconds(command.seconds);
    job->delay_s = command.seconds;
    job->client = 0;
  }
  return true;
}

bool Model::execute_beanstalk(ClientNumber client, const Command& command, Time now) {
  Client& self = clients_.at(client);
  ModelJob* const job = find(command.id);
  switch (command.verb) {
    case Verb::kPut:
      if (admission_ != Admission::kEverything) {
        expect(client, "OUT_OF_MEMORY\r\n");
        return true;
      }
      expect(client, "INSERTED " + text(facts.next_id) + "\r\n");
      add({.name = command.name,
           .queue = self.used,
           .pri = command.pri,
           .ttr_s = std::max(command.ttr_s, 1u),
           .due = now + seconds(command.seconds),
           .delay_s = command.seconds},
          now);
      return true;
    case Verb::kReserve:
      reserve(client, command.seconds == UINT32_MAX ? kNever : now + seconds(command.seconds), now);
      return true;
    case Verb::kReserveJob:
      if (job == nullptr || job->state == JobState::kReserved || !may_come_back(*job, now) ||
          (job->state != JobState::kDead && job->features.has_expired(wall(now)))) {
        expect(client, "NOT_FOUND\r\n");
      } else if (!takes_reservations()) {
        expect(client, "OUT_OF_MEMORY\r\n");
      } else {
        hand_out(client, command.id, now);
      }
      return true;
    case Verb::kDelete:
      expect(client, remove(client, command.id, now) ? "DELETED\r\n" : "NOT_FOUND\r\n");
      return true;
    case Verb::kKick:
      kick(client, command, now);
      return true;
    case Verb::kKickJob:
      if (job == nullptr || job->state == JobState::kReady || job->state == JobState::kReserved ||
          !may_come_back(*job, now)) {
        expect(client, "NOT_FOUND\r\n");
      } else {
        expect(client, "KICKED\r\n");
        make_ready(command.id, now);
      }
      return true;
    case Verb::kPeek:
      job == nullptr ? expect(client, "NOT_FOUND\r\n") : expect_job(client, "FOUND", command.id);
      return true;
    case Verb::kUse:
      self.used = command.queue;
      expect(client, "USING " + command.queue + "\r\n");
      return true;
    case Verb::kWatch:
      std::erase(self.watched, command.queue);
      self.watched.push_back(command.queue);
      expect(client, "WATCHING " + text(self.watched.size()) + "\r\n");
      return true;
    case Verb::kIgnore:
      if (self.watched == std::vector{command.queue}) {
        expect(client, "NOT_IGNORED\r\n");
      } else {
        std::erase(self.watched, command.queue);
        expect(client, "WATCHING " + text(self.watched.size()) + "\r\n");
      }
      return true;
    case Verb::kPauseTube:
      if (!exists(command.queue)) {
        expect(client, "NOT_FOUND\r\n");
      } else if (!takes_longer() && command.seconds != 0) {
        expect(client, "OUT_OF_MEMORY\r\n");
      } else {
        expect(client, "PAUSED\r\n");
        pause(command.queue, now + seconds(command.seconds), now);
      }
      return true;
    default:
      expect_stats(client, command.queue);
      return true;
  }
}

void Model::reserve(ClientNumber client, Time until, Time now) {
  Client& self = clients_.at(client);
  const JobId id = choose(client, {self.watched}, now);
  if (id != 0 && !takes_reservations()) {
    expect(client, "OUT_OF_MEMORY\r\n");
  } else if (id != 0) {
    hand_out(client, id, now);
  } else if (is_deadline_soon(client, now)) {
    expect(client, "DEADLINE_SOON\r\n");
  } else if (until <= now) {
    expect(client, "TIMED_OUT\r\n");
  } else {
    self.wait = Wait{.ticket = next_ticket_++, .queues = self.watched, .until = until};
  }
}

/// A job that is held counts as done.
bool Model::remove(ClientNumber client, JobId id, Time now) {
  const ModelJob* const job = find(id);
  if (job == nullptr) return false;
  const bool is_held = job->state == JobState::kReserved;
  if (is_held && job->client != client) return false;
  facts.processed += is_held ? 1 : 0;
  end(id, is_held ? End::kSucceeded : End::kGone, now);
  return true;
}

/// Buried jobs, the oldest first; if there are none, delayed ones, the soonest first.
void Model::kick(ClientNumber client, const Command& command, Time now) {
  Task task{.client = client,
            .command = command,
            .queue = clients_.at(client).used,
            .set = JobState::kDead};
  if (kickable(task).empty()) task.set = JobState::kScheduled;
  const std::vector<JobId> ids = kickable(task);
  task.left = std::min<std::uint64_t>(command.bound, ids.size());
  if (!ids.empty()) task.last = {due_of(facts.jobs.at(ids.back())), ids.back()};
  start(std::move(task), now);
}

std::vector<JobId> Model::kickable(const Task& task) const {
  std::vector<JobId> ids = in_order(task.set, task.queue);
  if (task.set == JobState::kDead) return ids;
  for (const JobId id : in_order(JobState::kRetrying, task.queue)) ids.push_back(id);
  std::sort(ids.begin(), ids.end(), [&](JobId a, JobId b) {
    return std::pair(due_of(facts.jobs.at(a)), a) < std::pair(due_of(facts.jobs.at(b)), b);
  });
  return ids;
}

bool Model::work_kick(Task& task, Time now) {
  for (const JobId id : kickable(task)) {
    if (task.left == 0) return true;
    const ModelJob& job = facts.jobs.at(id);
    // It has died later, or cannot come back.
    if (task.set == JobState::kDead && std::pair(job.due, id) > task.last) return true;
    if (!may_come_back(job, now)) continue;
    if (!has_moved(id, job)) return false;
    make_ready(id, now);
    --task.left;
    ++task.moved;
  }
  return true;
}

// ---- operations on many jobs --------------------------------------------------------------------

/// The first one at once, and the others in their order, each as much later as the one before it.
void Model::spread_retries(JobState set, Duration within, Time now) {
  settle_times();
  const std::vector<JobId> ids = in_order(set, "");
  std::uint64_t retried = 0;
  for (const JobId id : ids) {
    ModelJob& job = facts.jobs.at(id);
    const double part = static_cast<double>(retried) / static_cast<double>(ids.size() + 1);
    const Time due = now + std::chrono::duration_cast<Duration>(within * part);
    if (job.features.has_expired(wall(due)) || !may_come_back(job, now)) continue;
    ++retried;
    if (due <= now) {
      make_ready(id, now);
      continue;
    }
    job.due = job.follows_wall ? wall(due) : due;
    job.delay_s = static_cast<std::uint32_t>(std::chrono::ceil<seconds>(due - now).count());
    enter(job, JobState::kScheduled, now);
  }
  work_on_batches(now);
  forget_unused();
}

bool Model::move(JobId id, const std::string& to, Time now) {
  const ModelJob* const job = find(id);
  if (job == nullptr || job->state == JobState::kReserved || job->queue == to) return false;
  if (admission_ != Admission::kEverything) return false;
  change_queue(id, to, now);
  work_on_batches(now);
  forget_unused();
  return true;
}

void Model::start(Task task, Time now) {
  if (!work(task, now)) {
    tasks_.push_back(std::move(task));
  } else if (task.client != 0) {
    const bool is_kick = task.command.verb == Verb::kKick;
    expect(task.client, is_kick ? "KICKED " + text(task.moved) + "\r\n" : "+OK\r\n");
    clients_.at(task.client).expected.back().may_be_late = true;
  }
}

bool Model::work(Task& task, Time now) {
  return task.command.verb == Verb::kKick ? work_kick(task, now) : work_mutate(task, now);
}

// ---- FWP ----------------------------------------------------------------------------------------

void Model::execute_worker(ClientNumber client, const Command& command, Time now) {
  if (command.verb == Verb::kFetch) return fetch(client, command.queues, now);
  if (command.verb == Verb::kBeat) {
    beats_[command.name] = now;
    if (is_connected(command.name)) beating_.insert(command.name);
  }
  if (command.verb == Verb::kInfo) return expect_info(client);
  if (command.verb == Verb::kTrackSet) return set_track(client, command, now);
  if (command.verb == Verb::kTrackGet) return expect_track(client, command.name);
  if (command.verb == Verb::kBatchNew) return make_batch(client, command, now);
  const bool is_of_batch = command.verb == Verb::kBatchOpen || command.verb == Verb::kBatchCommit ||
                           command.verb == Verb::kBatchStatus;
  if (is_of_batch) return use_batch(client, command, now);
  if (!command.jobs.empty()) return push(client, command, now);
  const Meant meant = meant_by(client, command.name);
  if (command.verb == Verb::kFail && meant.held == 0) {
    return expect(client, "-ERR Job not found " + command.name + "\r\n");
  }
  if (command.verb == Verb::kFail && command.gives_back()) {
    ModelJob& job = facts.jobs.at(meant.held);
    note_attempt(job, {.end = AttemptEnd::kReleased}, now);
    job.follows_wall = false;
    make_ready(meant.held, now);
  } else if (command.verb == Verb::kFail) {
    fail(meant.held, AttemptEnd::kFailed, message_of(command), now);
  }
  if (command.verb == Verb::kAck) acknowledge(client, meant, now);
  if (command.verb == Verb::kPauseQueue && !takes_longer()) {
    return expect_parts(client, {"-ERR server is out of space", "\r\n"});
  }
  if (command.verb == Verb::kPauseQueue && exists(command.queue)) pause(command.queue, kNever, now);
  if (command.verb == Verb::kResumeQueue && exists(command.queue)) pause(command.queue, now, now);
  if (command.verb == Verb::kRemoveQueue) remove_queue(command.queue, now);
  if (command.verb == Verb::kMutate) return mutate(client, command, now);
  if (command.verb == Verb::kFlush) flush();
  expect(client, "+OK\r\n");
}

bool Model::is_repeated(const JobText& job, const std::string& wid, Time now) const {
  for (const auto& [id, other] : facts.jobs) {
    const bool is_same = other.is_pushed && other.name == job.name && other.queue == job.queue;
    if (!is_same || other.state == JobState::kDead) continue;
    return other.state != JobState::kReserved || wid.empty() || other.wid != wid;
  }
  const auto ended = facts.ended_pushes.find({job.name, job.queue});
  return ended != facts.ended_pushes.end() && now < ended->second + push_memory_;
}

/// 9 is the most urgent. A worker has at least a minute.
void Model::push(ClientNumber client, const Command& command, Time now) {
  const bool is_bulk = command.verb == Verb::kPushBulk;
  if (!is_bulk && is_repeated(command.jobs.front(), clients_.at(client).wid, now))
    return expect(client, "+OK\r\n");
  if (admission_ != Admission::kEverything) {
    const bool is_no_bid = command.jobs.front().wishes.batch == kNoBatch;
    if (!is_bulk && is_no_bid) return expect(client, "-ERR No such batch " + kNoBid + "\r\n");
    if (!is_bulk) return expect_parts(client, {"-ERR server is out of space", "\r\n"});
    std::vector<std::string> parts{"$"};
    for (const JobText& job : command.jobs) parts.push_back(job.name);
    // The reply is a JSON object with its members in order.
    std::sort(parts.begin() + 1, parts.end());
    return expect_parts(client, std::move(parts));
  }
  std::map<std::string, std::string> refused;
  for (const JobText& job : command.jobs) {
    const std::string refusal = refusal_of(job, now);
    if (refusal.empty()) add(pushed(job, features_of(job, now)), now);
    // It counts as pushed: another one is there.
    const bool counts = refusal.starts_with("NOTUNIQUE") && job.wishes.conflict == "ok";
    if (!refusal.empty() && !counts) refused[job.name] = refusal;
  }
  if (!is_bulk) {
    if (refused.empty()) return expect(client, "+OK\r\n");
    const std::string& text = refused.begin()->second;
    return expect(client, (text.starts_with("NOTUNIQUE") ? "-" : "-ERR ") + text + "\r\n");
  }
  std::string json;
  for (const auto& [jid, text] : refused) json += (json.empty() ? "" : ",") + member(jid, text);
  expect(client, "$" + text(json.size() + 2) + "\r\n{" + json + "}\r\n");
}

void Model::fetch(ClientNumber client, const std::vector<std::string>& queues, Time now) {
  QueueGroups groups;
  for (const std::string& queue : queues) groups.push_back({queue});
  if (const JobId id = choose(client, groups, now); id != 0) {
    if (takes_reservations()) return hand_out(client, id, now);
    return expect_parts(client, {"-ERR server is out of space", "\r\n"});
  }
  clients_.at(client).wait =
      Wait{.ticket = next_ticket_++, .queues = queues, .until = now + kFetchWait};
}

void Model::mutate(ClientNumber client, const Command& command, Time now) {
  const JobState set = command.set == "dead"      ? JobState::kDead
                       : command.set == "retries" ? JobState::kRetrying
                                                  : JobState::kScheduled;
  if (command.action == "move" && admission_ != Admission::kEverything) {
    return expect_parts(client, {"-ERR server is out of space", "\r\n"});
  }
  Task task{.client = client, .command = command, .set = set, .id_end = facts.next_id};
  const std::vector<JobId> ids = in_order(set, "");
  if (!ids.empty()) task.last = {due_of(facts.jobs.at(ids.back())), ids.back()};
  start(std::move(task), now);
}

/// Those that are in the set when it begins. Later ones stay.
bool Model::work_mutate(Task& task, Time now) {
  const Command& command = task.command;
  for (const JobId id : in_order(task.set, "")) {
    const ModelJob& job = facts.jobs.at(id);
    const std::pair entry{due_of(job), id};
    if (entry <= task.after || entry > task.last || job.sequence >= task.id_end) continue;
    const auto& jids = command.jids;
    const bool is_meant =
        jids.empty() || std::find(jids.begin(), jids.end(), jid_of(id, job)) != jids.end();
    if (!is_meant) continue;
    // The rest stays, too.
    const bool is_move = command.action == "move";
    if (is_move && admission_ != Admission::kEverything) return true;
    const bool stays =
        is_move ? job.queue == command.to : command.action == "requeue" && !may_come_back(job, now);
    if (!stays && !has_moved(id, job)) return false;
    task.after = entry;
    if (stays) continue;
    if (command.action == "discard") end(id, End::kGone, now);
    if (command.action == "kill") make_dead(id, now);
    if (command.action == "requeue") make_ready(id, now);
    if (is_move) change_queue(id, command.to, now);
  }
  return true;
}

/// Ready jobs are removed; others stay.
void Model::remove_queue(const std::string& queue, Time now) {
  if (!exists(queue)) return;
  for (const JobId id : in_order(JobState::kReady, queue)) end(id, End::kGone, now);
  facts.kept.erase(queue);
  pause(queue, now, now);
}

void Model::flush() {
  facts.jobs.clear();
  facts.batches.clear();
  facts.tracks.clear();
  facts.ended_pushes.clear();
  facts.kept.clear();
  facts.pauses.clear();
  restored_.clear();
  facts.processed = facts.failed = 0;
}

}  // namespace millrace::simulation
