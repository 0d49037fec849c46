#include "simulation/model/workload.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace millrace::simulation {
namespace {

struct Weight {
  Verb verb;
  std::uint64_t weight;
};

constexpr std::array kBeanstalkWeights = {
    Weight{Verb::kPut, 220},      Weight{Verb::kReserve, 220},  Weight{Verb::kDelete, 140},
    Weight{Verb::kRelease, 80},   Weight{Verb::kBury, 60},      Weight{Verb::kTouch, 30},
    Weight{Verb::kKick, 50},      Weight{Verb::kKickJob, 30},   Weight{Verb::kReserveJob, 30},
    Weight{Verb::kPeek, 20},      Weight{Verb::kUse, 40},       Weight{Verb::kWatch, 30},
    Weight{Verb::kIgnore, 20},    Weight{Verb::kPauseTube, 15}, Weight{Verb::kStats, 10},
    Weight{Verb::kStatsTube, 20},
};

constexpr std::array kWorkerWeights = {
    Weight{Verb::kPush, 220},      Weight{Verb::kPushBulk, 30},    Weight{Verb::kFetch, 280},
    Weight{Verb::kAck, 200},       Weight{Verb::kFail, 100},       Weight{Verb::kBeat, 50},
    Weight{Verb::kPauseQueue, 15}, Weight{Verb::kResumeQueue, 25}, Weight{Verb::kRemoveQueue, 3},
    Weight{Verb::kMutate, 30},     Weight{Verb::kInfo, 20},        Weight{Verb::kFlush, 1},
};

constexpr std::array kFeatureWorkerWeights = {
    Weight{Verb::kPush, 220},     Weight{Verb::kPushBulk, 40},    Weight{Verb::kFetch, 300},
    Weight{Verb::kAck, 220},      Weight{Verb::kFail, 100},       Weight{Verb::kBeat, 200},
    Weight{Verb::kPauseQueue, 8}, Weight{Verb::kResumeQueue, 25}, Weight{Verb::kRemoveQueue, 5},
    Weight{Verb::kMutate, 30},    Weight{Verb::kInfo, 20},        Weight{Verb::kFlush, 1},
    Weight{Verb::kTrackSet, 50},  Weight{Verb::kTrackGet, 60},    Weight{Verb::kBatchNew, 50},
    Weight{Verb::kBatchOpen, 20}, Weight{Verb::kBatchCommit, 60}, Weight{Verb::kBatchStatus, 60},
};

/// Jobs fail and are moved about, and few end.
constexpr std::array kSiegeBeanstalkWeights = {
    Weight{Verb::kPut, 60},       Weight{Verb::kReserve, 300}, Weight{Verb::kDelete, 20},
    Weight{Verb::kRelease, 150},  Weight{Verb::kBury, 150},    Weight{Verb::kTouch, 20},
    Weight{Verb::kKick, 100},     Weight{Verb::kKickJob, 60},  Weight{Verb::kReserveJob, 150},
    Weight{Verb::kUse, 40},       Weight{Verb::kWatch, 30},    Weight{Verb::kPauseTube, 2},
    Weight{Verb::kStatsTube, 10},
};

constexpr std::array kSiegeWorkerWeights = {
    Weight{Verb::kPush, 100},     Weight{Verb::kPushBulk, 100},   Weight{Verb::kFetch, 600},
    Weight{Verb::kAck, 10},       Weight{Verb::kFail, 600},       Weight{Verb::kBeat, 30},
    Weight{Verb::kPauseQueue, 2}, Weight{Verb::kResumeQueue, 30}, Weight{Verb::kMutate, 60},
    Weight{Verb::kInfo, 10},
};

Verb draw(Random& random, std::span<const Weight> weights) {
  std::uint64_t total = 0;
  for (const Weight& each : weights) total += each.weight;
  std::uint64_t at = random.below(total);
  for (const Weight& each : weights) {
    if (at < each.weight) return each.verb;
    at -= each.weight;
  }
  return weights.front().verb;
}

}  // namespace

bool Workload::may_wait(const Command& command) {
  switch (command.verb) {
    case Verb::kReserve:
      return command.seconds != 0;
    case Verb::kFetch:
    case Verb::kKick:
    case Verb::kMutate:
      return true;
    default:
      return false;
  }
}

bool Workload::is_ending_jobs(const Model& model) {
  const std::size_t jobs = model.facts.jobs.size();
  if (jobs >= sizes_.jobs_max) is_ending_jobs_ = true;
  if (jobs <= sizes_.jobs_kept) is_ending_jobs_ = false;
  return is_ending_jobs_;
}

Verb Workload::draw_beanstalk_verb(const Model& model) {
  const Verb verb =
      sizes_.is_siege ? draw(random_, kSiegeBeanstalkWeights) : draw(random_, kBeanstalkWeights);
  // Slots that become free and pauses that end at the same time: nobody says which queue is first.
  if (sizes_.has_features && verb == Verb::kPauseTube) return Verb::kStatsTube;
  const bool is_too_much = verb == Verb::kPut && is_ending_jobs(model);
  return is_too_much ? Verb::kDelete : verb;
}

Verb Workload::draw_worker_verb(const Model& model) {
  const Verb verb = sizes_.is_siege       ? draw(random_, kSiegeWorkerWeights)
                    : sizes_.has_features ? draw(random_, kFeatureWorkerWeights)
                                          : draw(random_, kWorkerWeights);
  const bool is_put = verb == Verb::kPush || verb == Verb::kPushBulk;
  if (sizes_.is_siege && random_.one_in(4) && !is_ending_jobs(model)) return Verb::kPushBulk;
  if (is_crowded() && verb == Verb::kFlush) return Verb::kRemoveQueue;
  if (!is_put) return verb;
  if (is_ending_jobs(model)) return is_crowded() ? Verb::kRemoveQueue : Verb::kAck;
  return is_crowded() ? Verb::kPushBulk : verb;
}

/// Mostly one that the client holds, sometimes any, seldom one that there is not.
JobId Workload::draw_id(const Model& model, ClientNumber client) {
  std::vector<JobId> held;
  std::vector<JobId> any;
  for (const auto& [id, job] : model.facts.jobs) {
    any.push_back(id);
    if (job.state == JobState::kReserved && job.client == client) held.push_back(id);
  }
  if (!held.empty() && !random_.one_in(4)) return random_.pick(held);
  if (!any.empty() && !random_.one_in(10)) return random_.pick(any);
  return random_.between(1, model.facts.next_id + 1);
}

std::string Workload::draw_held_jid(const Model& model, const std::string& wid) {
  std::vector<std::string> own;
  std::vector<std::string> any;
  std::vector<std::string> taken;  // that it held before
  for (const auto& [id, job] : model.facts.jobs) {
    const bool was_own = std::any_of(job.attempts.begin(), job.attempts.end(),
                                     [&](const ModelAttempt& each) { return each.wid == wid; });
    const bool is_own = job.state == JobState::kReserved && job.wid == wid;
    if (was_own && !is_own) taken.push_back(jid_of(id, job));
    if (job.state != JobState::kReserved || job.client != 0) continue;
    any.push_back(jid_of(id, job));
    if (job.wid == wid) own.push_back(any.back());
  }
  if (!taken.empty() && random_.one_in(4)) return random_.pick(taken);
  if (!own.empty() && !random_.one_in(8)) return random_.pick(own);
  if (!any.empty() && !random_.one_in(8)) return random_.pick(any);
  return "nobody-has-it";
}

std::size_t Workload::draw_size() {
  return random_.one_in(sizes_.one_large_in) ? sizes_.large_body_bytes
                                             : random_.below(sizes_.body_bytes_max);
}

std::string Workload::draw_body(const std::string& start) {
  std::string body = start + std::to_string(++named_) + "-";
  body.append(draw_size(), static_cast<char>('a' + random_.below(26)));
  return body;
}

JobText Workload::draw_job(const Model& model, Time now) {
  JobText job;
  job.name = "pushed-" + std::to_string(model.facts.next_id) + "-" + std::to_string(++named_);
  job.queue = random_.pick(kQueues);
  // With features, long enough for a worker to be lost before.
  job.reserve_for_s =
      static_cast<std::uint32_t>(random_.between(60, sizes_.has_features ? 300 : 90));
  job.retry = sizes_.is_siege ? 25 : static_cast<std::int64_t>(random_.below(5)) - 1;
  job.priority = static_cast<int>(random_.between(1, 9));
  job.padding_bytes = draw_size();
  if (random_.one_in(sizes_.one_scheduled_in))
    job.at = now + model.wall_ahead() + std::chrono::milliseconds(random_.below(5000));
  if (sizes_.has_features) {
    job.wishes = draw_wishes(model, now);
    if (job.queue == kThrottledQueue && random_.one_in(2)) job.type = kLimitedJobtype;
    const auto batch = model.facts.batches.find(job.wishes.batch);
    if (batch != model.facts.batches.end()) job.bid = batch->second.bid;
    if (batch == model.facts.batches.end() && job.wishes.batch != 0) job.bid = kNoBid;
  }
  return job;
}

void Workload::remember(const JobText& job) {
  constexpr std::size_t kRemembered = 50;
  // What is remembered of a name, and when a time is over, is another matter than this.
  const JobWishes& wishes = job.wishes;
  if (wishes.is_tracked || wishes.expires_at != Time{} || wishes.expires_in != Duration{}) return;
  pushed_.push_back(job);
  if (pushed_.size() > kRemembered) pushed_.pop_front();
}

std::optional<JobText> Workload::draw_repeated(const Model& model, const std::string& wid,
                                               Time now) {
  std::vector<const JobText*> known;
  for (const JobText& job : pushed_) {
    if (model.is_repeated(job, wid, now)) known.push_back(&job);
  }
  return known.empty() ? std::nullopt : std::optional(*random_.pick(known));
}

Command Workload::draw_beanstalk(const Model& model, ClientNumber client) {
  Command command;
  command.verb = draw_beanstalk_verb(model);
  command.queue = random_.pick(kQueues);
  command.id = draw_id(model, client);
  command.pri = static_cast<Pri>(random_.below(4) * 700);
  command.ttr_s = static_cast<std::uint32_t>(random_.between(1, 8));
  command.bound = static_cast<std::uint32_t>(random_.between(1, random_.one_in(3) ? 1000 : 6));
  if (command.verb == Verb::kPut) command.name = draw_body("put-");
  if (command.verb == Verb::kStats) command.queue.clear();
  if (random_.one_in(3)) command.seconds = static_cast<std::uint32_t>(random_.between(1, 5));
  if (command.verb == Verb::kReserve && random_.one_in(10)) command.seconds = UINT32_MAX;
  return command;
}

Command Workload::draw_worker(const Model& model, const std::string& wid, Time now) {
  Command command;
  command.verb = draw_worker_verb(model);
  command.queue = random_.pick(kQueues);
  command.queues.push_back(command.queue);
  if (random_.one_in(2)) command.queues.push_back(random_.pick(kQueues));
  if (command.queues.front() == command.queues.back()) command.queues.resize(1);
  command.name = command.verb == Verb::kBeat ? wid : draw_held_jid(model, wid);
  if (command.verb == Verb::kMutate) return draw_mutate(model);
  if (command.verb == Verb::kTrackSet || command.verb == Verb::kTrackGet) {
    draw_track(model, command, now);
  }
  if (command.verb == Verb::kBatchNew) draw_new_batch(model, command);
  if (command.verb == Verb::kBatchOpen || command.verb == Verb::kBatchCommit ||
      command.verb == Verb::kBatchStatus) {
    draw_use_of_batch(model, command);
  }
  if (command.verb == Verb::kFail) command.error_bytes = random_.below(sizes_.error_bytes_max);
  if (sizes_.is_siege)
    command.error_bytes = std::max(command.error_bytes, sizes_.error_bytes_max / 2);
  const bool is_push = command.verb == Verb::kPush;
  const bool is_bulk = command.verb == Verb::kPushBulk;
  const std::size_t count = is_bulk ? random_.between(1, sizes_.bulk_jobs_max) : is_push;
  constexpr std::size_t kBytesAtOnce = 48'000;  // a session takes more than that in slices
  if (is_push && random_.one_in(10)) {
    if (const auto job = draw_repeated(model, wid, now)) command.jobs.push_back(*job);
  }
  const bool is_repeated = !command.jobs.empty();
  while (command.jobs.size() < count) {
    command.jobs.push_back(draw_job(model, now));
    std::size_t& bytes = command.jobs.back().padding_bytes;
    bytes = std::min(bytes, kBytesAtOnce / count);
  }
  if (is_push && !is_repeated) remember(command.jobs.front());
  return command;
}

Command Workload::draw_mutate(const Model& model) {
  static const std::vector<std::string> kActions = {"discard", "kill", "requeue"};
  static const std::vector<std::string> kSets = {"scheduled", "retries", "dead"};
  Command command;
  command.verb = Verb::kMutate;
  command.action = random_.pick(kActions);
  command.set = random_.pick(kSets);
  const bool is_about_all = random_.one_in(4);
  for (const auto& [id, job] : model.facts.jobs) {
    if (!is_about_all && random_.one_in(2)) command.jids.push_back(jid_of(id, job));
  }
  if (moves_jobs() && moves_.one_in(3)) draw_move(model, command);
  return command;
}

void Workload::draw_move(const Model& model, Command& command) {
  command.action = "move";
  command.to = moves_.pick(kQueues);
  if (command.jids.empty() && !sizes_.has_features) return;
  command.jids = {"nobody-has-it"};
  for (const auto& [id, job] : model.facts.jobs) {
    if (may_move(job) && !moves_.one_in(3)) command.jids.push_back(jid_of(id, job));
  }
}

}  // namespace millrace::simulation
