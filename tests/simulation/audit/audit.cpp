#include "simulation/audit/audit.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/model/codec.hpp"
#include "core/model/entry_head.hpp"
#include "core/state/store.hpp"
#include "simulation/audit/audit_features.hpp"
#include "simulation/violation.hpp"

namespace millrace::simulation {
namespace {

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
constexpr std::array kTimedStates = {JobState::kScheduled, JobState::kReserved, JobState::kRetrying,
                                     JobState::kDead};

std::vector<JobId> ready_ids(const View& view, const Queue& queue) {
  std::vector<JobId> ids;
  view.jobs().page_ready(queue, {}, kAll, [&](const Job& job) { ids.push_back(job.id); });
  return ids;
}

std::vector<JobId> ids_in(const View& view, JobState state) {
  std::vector<JobId> ids;
  view.jobs().page(state, {}, kAll, [&](const Job& job) { ids.push_back(job.id); });
  return ids;
}

[[noreturn]] void disagree(JobId id, const char* what) {
  throw Violation("job " + std::to_string(id) + ": server and model disagree on its " + what);
}

void compare_holder(const Job& job, const ModelJob& expected,
                    std::map<ClientNumber, ClientId>& connections) {
  const Reservation& held = *job.reservation();
  if (held.is_held_by_worker() != (expected.client == 0)) disagree(job.id, "holder");
  if (expected.client == 0) {
    if (held.wid != expected.wid || held.reserved_at != expected.reserved_at) {
      disagree(job.id, "worker");
    }
    if (job.has_mark(job_marks::kHolderBeats) != expected.holder_beats) {
      disagree(job.id, "worker's heartbeat");
    }
    return;
  }
  const auto [place, is_new] = connections.try_emplace(expected.client, held.client);
  if (place->second != held.client) disagree(job.id, "connection");
}

void compare_job(const Job& job, const std::string& queue, const ModelJob& expected) {
  if (job.state != expected.state) disagree(job.id, "state");
  if (queue != expected.queue) disagree(job.id, "queue");
  if (job.pri != expected.pri) disagree(job.id, "priority");
  if (job.ttr_s != expected.ttr_s) disagree(job.id, "ttr");
  if ((job.kind == JobKind::kWorkUnit) != expected.is_pushed) disagree(job.id, "kind");
  const std::string_view body = job.body_view();
  const bool is_body_right =
      expected.is_pushed ? body.find(R"("jid":")" + expected.name + '"') != std::string_view::npos
                         : body == expected.name;
  if (!is_body_right) disagree(job.id, "body");
  if (job.state != JobState::kReady && job.when != expected.due) disagree(job.id, "time");
}

/// Those that are over, and as much of their texts as is kept.
void compare_attempts(const Attempts* attempts, JobId id, const ModelJob& expected) {
  const std::size_t count = attempts == nullptr ? 0 : attempts->list.size();
  if (count != expected.attempts.size()) disagree(id, "attempts");
  std::size_t text_bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Attempt& attempt = attempts->list[i];
    const ModelAttempt& model = expected.attempts[i];
    if (attempt.end != model.end) disagree(id, "attempt's end");
    const bool is_then = attempt.began == model.began && attempt.ended == model.ended;
    if (!is_then) disagree(id, "attempt's times");
    if (attempt.wid != model.wid) disagree(id, "attempt's worker");
    if (attempt.has_failure != model.is_told_by_failure) disagree(id, "attempt with the failure");
    if (!model.message.starts_with(attempt.message)) disagree(id, "attempt's message");
    if (attempt.message.size() < model.message.size() && i + 4 >= count) {
      disagree(id, "newest attempts' messages");
    }
    text_bytes += attempt.message.size();
    for (const std::string& line : attempt.backtrace) text_bytes += line.size();
  }
  if (text_bytes > Attempts::kTextBytesMax) disagree(id, "attempts' size");
}

void compare_queue(const View& view, const Model& model, const std::string& name, Time now) {
  const Queue* const queue = view.queues().find(name);
  const auto must = [&](bool is_true, const char* what) {
    if (!is_true) throw Violation("queue " + name + ": server and model disagree on " + what);
  };
  const auto count = [&](JobState state) { return model.in_order(state, name).size(); };
  const std::vector<JobId> ready = model.in_order(JobState::kReady, name);
  must(model.exists(name) == (queue != nullptr), "whether it exists");
  if (queue == nullptr) return;
  must(model.facts.kept.contains(name) == queue->is_kept, "whether it is kept");
  must(model.is_paused(name, now) == queue->is_paused(now), "whether it is paused");
  must(ready_ids(view, *queue) == ready, "its order");
  must(queue->scheduled_count() == count(JobState::kScheduled), "the count of its scheduled jobs");
  must(queue->retrying_count == count(JobState::kRetrying), "the count of its retrying jobs");
  must(queue->dead.size() == count(JobState::kDead), "the count of its dead jobs");
  must(queue->reserved_count == count(JobState::kReserved), "the count of its reserved jobs");
  const auto urgent = std::count_if(ready.begin(), ready.end(), [&](JobId id) {
    return model.facts.jobs.at(id).pri < kUrgentBelow;
  });
  must(queue->urgent_count == static_cast<std::uint64_t>(urgent), "the count of its urgent jobs");
}

void compare_totals(const View& view, const Model& model) {
  const CountersChanged& counters = view.counters();
  demand(counters.processed == model.facts.processed, "the count of finished runs is wrong");
  demand(counters.failed == model.facts.failed, "the count of failed runs is wrong");
  demand(counters.next_id >= model.facts.next_id, "an id could be given a second time");
  std::uint64_t total = 0;
  for (const JobState state : {JobState::kReady, JobState::kScheduled, JobState::kReserved,
                               JobState::kRetrying, JobState::kDead}) {
    total += view.orders().count(state);
    demand(view.orders().count(state) == model.in_order(state, "").size(),
           "a count of jobs is wrong");
  }
  demand(total == model.facts.jobs.size(), "the count of all jobs is wrong");
}

}  // namespace

void settle(const View& view, Facts& facts) {
  for (auto& [id, expected] : facts.jobs) {
    if (expected.due_latest == Time{} && !expected.may_be_ready) continue;
    const Job* const job = view.jobs().find(id);
    const bool was_held = std::exchange(expected.may_be_ready, false);
    const Time latest = std::exchange(expected.due_latest, Time{});
    if (job == nullptr) continue;  // `compare` will say so
    if (was_held && job->state == JobState::kReady) {
      if (expected.state == JobState::kDead) {
        expected.features.holds_lock = expected.would_hold_lock;
        expected.features.lock_ends = expected.lock_would_end;
      }
      expected.state = JobState::kReady;
      expected.due = Time{};
    }
    // The failure tells it even when the job has been moved on by now.
    if (latest != Time{} && expected.state == JobState::kRetrying && job->failure() != nullptr) {
      const Time planned = job->failure()->next_at;
      if (planned < expected.due || planned > latest) disagree(id, "back-off");
      expected.due = planned;
    }
  }
}

void compare(const Broker& broker, const Model& model, Time now) {
  const View& view = broker.view();
  std::map<ClientNumber, ClientId> connections;
  for (const auto& [id, expected] : model.facts.jobs) {
    const Job* const job = view.jobs().find(id);
    if (job == nullptr) throw Violation("job " + std::to_string(id) + " is lost");
    compare_job(*job, view.queues().at(job->queue).name, expected);
    compare_attempts(view.jobs().attempts_of(*job), id, expected);
    if (job->state == JobState::kReserved) compare_holder(*job, expected, connections);
  }
  for (const JobState state : kTimedStates) {
    demand(ids_in(view, state) == model.in_order(state, ""),
           "server and model disagree on the order of a set");
  }
  for (const std::string& queue : kQueues) compare_queue(view, model, queue, now);
  compare_totals(view, model);
  compare_features(broker, model);
}

bool has_moved(const View& view, JobId id, const ModelJob& expected, ClientNumber first) {
  const Job* const job = view.jobs().find(id);
  if (job == nullptr || job->state != expected.state || job->when != expected.due) return true;
  if (view.queues().at(job->queue).name != expected.queue) return true;
  const Reservation* const held = job->reservation();
  if (held == nullptr) return false;
  if (expected.client == 0) return !held->is_held_by_worker() || held->wid != expected.wid;
  return held->client != static_cast<ClientId>(expected.client - first + 1);
}

Time error_of(const Record& record) {
  const auto of_job = [](const JobFields& job) {
    const Reservation* const held = job.reservation();
    const bool is_delayed = job.state == JobState::kScheduled && job.tallies().releases > 0;
    const Time begun = is_delayed ? job.when - std::chrono::seconds(job.delay_s) : Time{};
    return std::max({job.enqueued_at, held == nullptr ? Time{} : held->reserved_at, begun});
  };
  if (const auto* added = std::get_if<JobAdded>(&record)) {
    return std::max(added->fields.created_at, of_job(added->fields));
  }
  if (const auto* changed = std::get_if<JobChanged>(&record)) return of_job(changed->fields);
  if (const auto* queue = std::get_if<QueueChanged>(&record)) {
    const bool is_endless = queue->paused_until == kNever;
    return is_endless ? Time{} : queue->paused_until - std::chrono::seconds(queue->pause_s);
  }
  if (const auto* batch = std::get_if<JobBatchAdded>(&record)) return batch->created_at;
  if (const auto* batch = std::get_if<JobBatchChanged>(&record)) return batch->fields.since;
  if (const auto* attempt = std::get_if<AttemptEnded>(&record)) return attempt->attempt->ended;
  if (const auto* track = std::get_if<TrackChanged>(&record)) return track->updated_at;
  if (const auto* push = std::get_if<PushEnded>(&record)) return push->ended_at;
  if (const auto* finished = std::get_if<JobFinished>(&record)) return finished->ended_at;
  return {};
}

Time told_by_batch(std::string_view batch) {
  Time latest{};
  // The head of a shared log's entries is no record.
  if (!take_head(batch)) return latest;
  while (!batch.empty()) {
    const Outcome<Record> record = decode(batch);
    demand(record.has_value(), "a batch is no sequence of records");
    latest = std::max(latest, error_of(*record));
  }
  return latest;
}

std::string stored_state(const Broker& broker, std::set<JobId>& held) {
  const View& view = broker.view();
  std::map<JobId, std::string> jobs;
  const auto tell = [&](const Job& job) {
    const Reservation* const reservation = job.reservation();
    if (reservation != nullptr && !reservation->is_held_by_worker()) held.insert(job.id);
    if (held.contains(job.id)) return;
    encode(job, view.queues().at(job.queue).name, view.jobs().attempts_of(job), jobs[job.id]);
  };
  std::map<std::string, std::string> queues;
  for (const auto& [created, id] : view.queues().by_creation()) {
    const Queue& queue = view.queues().at(id);
    view.jobs().page_ready(queue, {}, kAll, tell);
    if (!queue.is_kept && queue.paused_until == Time{}) continue;
    encode(record_of(queue), queues[queue.name]);
  }
  for (const JobState state : kTimedStates) view.jobs().page(state, {}, kAll, tell);
  std::string bytes;
  for (const JobId id : held) bytes += "held " + std::to_string(id) + "\n";
  for (const auto& [id, job] : jobs) bytes += job;
  for (const auto& [name, queue] : queues) bytes += queue;
  encode(view.counters(), bytes);
  encode(HistoryChanged{.days = view.history()}, bytes);
  if (const auto& secret = broker.ledger().store().lock_secret().get()) {
    encode(LockSecretDrawn{.secret = *secret}, bytes);
  }
  return bytes + stored_features(broker.ledger().store());
}

}  // namespace millrace::simulation
