#include "simulation/audit/audit_features.hpp"

#include <algorithm>
#include <deque>
#include <map>

#include "core/model/codec.hpp"
#include "core/model/failure_group.hpp"
#include "core/model/features/bid.hpp"
#include "core/state/throttle/lines.hpp"
#include "simulation/violation.hpp"

namespace millrace::simulation {
namespace {

using Fields = JobBatchFields;

[[noreturn]] void disagree(const std::string& of, const char* what) {
  throw Violation(of + ": server and model disagree on its " + what);
}

// ---- jobs ---------------------------------------------------------------------------------------

void compare_lock(const Store& store, const Job& job, const ModelFeatures& expected,
                  const std::string& name) {
  if (job.has_mark(job_marks::kHoldsLock) != expected.holds_lock) disagree(name, "lock");
  if (!expected.holds_lock) return;
  if (job.lock_ends() != expected.lock_ends) disagree(name, "lock's end");
  const auto holder = store.jobs().locks().holder(job.features->lock_key);
  if (!holder || store.jobs().at(*holder).id != job.id) disagree(name, "place among the locks");
}

/// A callback says of which batch it is.
void compare_callback(const Job& job, const Model& model, const ModelFeatures& expected,
                      const std::string& name) {
  const auto batch = model.facts.batches.find(expected.batch);
  if (batch == model.facts.batches.end()) return;
  const std::string_view body = job.body_view();
  const auto has = [&](const std::string& text) {
    return body.find(text) != std::string_view::npos;
  };
  if (!has(R"("_bid":")" + batch->second.bid + '"')) disagree(name, "batch in its body");
  if (!has(R"("_cb":")" + expected.role + '"')) disagree(name, "role in its body");
}

void compare_job(const Broker& broker, const Model& model, JobId id, const ModelJob& expected) {
  const Store& store = broker.ledger().store();
  const Job& job = *broker.view().jobs().find(id);
  const ModelFeatures& features = expected.features;
  const std::string name = "job " + std::to_string(id);
  const bool has_any = features.batch != 0 || features.is_tracked || !features.lock.empty() ||
                       features.expires_at != Time{} || !features.key.empty();
  if (static_cast<bool>(job.features) != has_any) disagree(name, "having features");
  if (!has_any) return;
  if (job.features->wants_lock() == features.lock.empty()) disagree(name, "wish for a lock");
  if (job.features->expires_at != features.expires_at) disagree(name, "time of expiry");
  if ((job.features->is_tracked != 0) != features.is_tracked) disagree(name, "being tracked");
  if (job.features->key() != features.key) disagree(name, "key");
  if (job.has_mark(job_marks::kHasRun) != features.has_run) disagree(name, "having run");
  if (job.has_mark(job_marks::kHasFailed) != features.has_failed) disagree(name, "having failed");
  compare_lock(store, job, features, name);
  if (!features.role.empty()) compare_callback(job, model, features, name);
}

// ---- failures -----------------------------------------------------------------------------------

/// Each job that has failed is in the group that its texts say now, by state and queue.
void compare_failures(const Store& store, const Model& model) {
  struct Wanted {
    std::map<JobState, std::vector<JobId>> jobs;
    std::map<QueueId, std::uint64_t> queues;
    std::size_t size = 0;
  };
  std::map<std::uint64_t, Wanted> wanted;
  for (const auto& [id, expected] : model.facts.jobs) {
    const Job& job = *store.jobs().find(id);
    if (job.failure() == nullptr) continue;
    Failure failure = *job.failure();
    failure.group = {};
    Wanted& group = wanted[failure_group_number(failure)];
    group.jobs[job.state].push_back(id);
    ++group.queues[job.queue];
    ++group.size;
  }
  const FailureGroups& groups = store.jobs().orders().failures();
  demand(groups.by_size().size() == wanted.size(), "the count of groups of failures is wrong");
  for (const FailureGroups::Place& place : groups.by_size()) {
    const std::string name = "failures " + std::to_string(place.group);
    const FailureGroups::Group* const group = groups.find(place.group);
    Wanted& expected = wanted[place.group];
    if (group == nullptr || place.size != expected.size) disagree(name, "size");
    for (const JobState state : FailureGroups::kSampled) {
      std::vector<JobId> found;
      for (const auto& entry : group->jobs.of(state)) found.push_back(entry.id);
      if (found != expected.jobs[state]) disagree(name, "jobs in a state");
    }
    const bool has_queues = std::ranges::equal(group->queues, expected.queues,
                                               [](const auto& a, const auto& b) { return a == b; });
    if (!has_queues) disagree(name, "queues");
  }
}

// ---- batches ------------------------------------------------------------------------------------

CallbackState state_of(const ModelBatch& batch, const std::string& role) {
  const auto found = batch.callbacks.find(role);
  if (found == batch.callbacks.end()) return CallbackState::kNone;
  switch (found->second.state) {
    case Callback::kWaiting:
      return CallbackState::kWaiting;
    case Callback::kEnqueued:
      return CallbackState::kEnqueued;
    case Callback::kSucceeded:
      return CallbackState::kSucceeded;
    case Callback::kGone:
      break;
  }
  return CallbackState::kGone;
}

void compare_callbacks(const Fields& fields, const ModelBatch& expected) {
  for (const std::string role : {"complete", "success", "death"}) {
    if (fields.callback(role_named(role)) != state_of(expected, role)) {
      disagree("batch " + expected.bid, "callbacks");
    }
    const auto callback = expected.callbacks.find(role);
    if (callback == expected.callbacks.end()) continue;
    if (fields.callback_job(role_named(role)) != callback->second.id) {
      disagree("batch " + expected.bid, "callback's job");
    }
  }
}

/// Their index has those in each state, and no others.
void compare_members(const Store& store, const Model& model, int number, JobBatchId id) {
  std::map<JobState, std::vector<JobId>> wanted;
  for (const auto& [job_id, job] : model.facts.jobs) {
    const bool is_member = job.features.batch == number && job.features.role.empty();
    if (is_member) wanted[job.state].push_back(job_id);
  }
  for (const JobState state : {JobState::kReady, JobState::kScheduled, JobState::kReserved,
                               JobState::kRetrying, JobState::kDead}) {
    std::vector<JobId> found;
    for (const auto& entry : store.jobs().orders().members().of(id, state)) {
      found.push_back(entry.id);
    }
    if (found != wanted[state]) disagree("batch " + format_bid(id), "members in a state");
  }
}

void compare_batch(const Store& store, const Model& model, int number, bool is_at_rest) {
  const ModelBatch& expected = model.facts.batches.at(number);
  const std::string name = "batch " + expected.bid;
  const auto id = parse_bid(expected.bid);
  const JobBatch* const batch = id ? store.batches().find(*id) : nullptr;
  if (batch == nullptr) throw Violation(name + " is lost");
  const Fields& fields = batch->fields;
  const Model::BatchCounts counts = model.counts_of(number);
  if (fields.total != expected.total) disagree(name, "count of all members");
  if (fields.lost != expected.lost) disagree(name, "count of lost members");
  if (fields.pending != counts.pending) disagree(name, "count of pending members");
  if (fields.failing != counts.failing) disagree(name, "count of failing members");
  if (fields.unexecuted != counts.unexecuted) disagree(name, "count of members that have not run");
  if (fields.children != counts.children) disagree(name, "count of children");
  if (fields.has(Fields::kCommitted) != expected.is_committed) disagree(name, "being committed");
  if (fields.has(Fields::kHasDeath) != expected.has_death) disagree(name, "having a death");
  compare_callbacks(fields, expected);
  compare_members(store, model, number, batch->id);
  // What is told to parents is told in slices.
  if (!is_at_rest) return;
  if (fields.has(Fields::kFinished) != expected.is_finished) disagree(name, "being finished");
  if (fields.unsettled != counts.unsettled) disagree(name, "count of unsettled children");
  if (fields.unsuccessful != counts.unsuccessful) disagree(name, "count of unsuccessful children");
}

void compare_batches(const Store& store, const Model& model) {
  const JobBatches& batches = store.batches();
  demand(batches.size() == model.facts.batches.size(), "the count of batches is wrong");
  const bool is_at_rest =
      std::none_of(batches.by_creation().begin(), batches.by_creation().end(),
                   [&](JobBatches::Slot slot) { return batches.at(slot).fields.has_work(); });
  for (const auto& [number, batch] : model.facts.batches) {
    compare_batch(store, model, number, is_at_rest);
  }
}

// ---- tracks -------------------------------------------------------------------------------------

TrackEnd end_named(const std::string& name) {
  if (name.empty()) return TrackEnd::kNone;
  if (name == "success") return TrackEnd::kSuccess;
  if (name == "failed") return TrackEnd::kFailed;
  return name == "dead" ? TrackEnd::kDead : TrackEnd::kUnknown;
}

void compare_track(const Track* track, const std::string& jid, const ModelTrack& expected) {
  const std::string name = "track " + jid;
  if (track == nullptr) throw Violation(name + " is lost");
  if (track->end != end_named(expected.end)) disagree(name, "end");
  if (track->desc != expected.desc) disagree(name, "description");
  if (track->percent != expected.percent.value_or(kNoPercent)) disagree(name, "percent");
  if (track->updated_at != expected.updated_at) disagree(name, "time");
}

// ---- slots --------------------------------------------------------------------------------------

void compare_taken(const std::string& whose, std::uint64_t taken, std::uint64_t expected) {
  if (taken == expected) return;
  throw Violation("the server counts " + std::to_string(taken) + " slots of " + whose +
                  ", the model " + std::to_string(expected));
}

void compare_slots(const Store& store, const Model& model) {
  const Throttles& throttles = store.throttles();
  // Until the rules are told, nothing counts.
  if (!throttles.has_begun()) return;
  if (const Throttle* const type = throttles.table().find(kLimitedType)) {
    compare_taken(kLimitedType, type->taken(), model.slots_taken(kLimitedType));
  }
  const Throttle* const throttle = throttles.table().find(kThrottledQueue);
  if (throttle == nullptr || !throttle->queue) return;
  compare_taken(kThrottledQueue, throttle->taken(), model.slots_taken(kThrottledQueue));
  if (throttle->limits.per_key == 0) return;
  const Lines& lines = *store.queues().at(*throttle->queue).lines;
  for (const char* const text : {"acme", "bolt", "corp"}) {
    const JobKey* const key = lines.find(text);
    compare_taken(text, key == nullptr ? 0 : key->taken, model.slots_of_key(text));
  }
}

// ---- views --------------------------------------------------------------------------------------

void compare_views(const SavedViews& views, const Model& model) {
  demand(views.count() == model.facts.views.size(), "the count of saved views is wrong");
  for (const auto& [name, query] : model.facts.views) {
    if (views.find(name) != query) disagree("view " + name, "query");
  }
}

// ---- marks of errors ----------------------------------------------------------------------------

void compare_marks(const ErrorMarks& marks, const Model& model) {
  demand(marks.count() == model.facts.marks.size(), "the count of marks of errors is wrong");
  for (const auto& [error, expected] : model.facts.marks) {
    const std::string name = "mark of error " + std::to_string(error);
    const ErrorMark* const mark = marks.find(error);
    if (mark == nullptr) throw Violation(name + " is lost");
    if (mark->muted_until != expected.muted_until) disagree(name, "time");
    if (mark->muted_below != expected.muted_below) disagree(name, "number of jobs");
    if (mark->note != expected.note) disagree(name, "note");
    if (mark->noted_at != expected.noted_at) disagree(name, "time of the note");
  }
}

// ---- tokens -------------------------------------------------------------------------------------

void compare_tokens(const Tokens& tokens, const Model& model) {
  demand(tokens.count() == model.facts.tokens.size(), "the count of tokens is wrong");
  tokens.each([&](const Token& token) {
    const auto expected = model.facts.tokens.find(token.name);
    if (expected == model.facts.tokens.end()) throw Violation("token " + token.name + " is back");
    if (token.expires_at != expected->second) disagree("token " + token.name, "end");
  });
}

// ---- changes of people --------------------------------------------------------------------------

void compare_changes(const AuditLog& log, const Model& model) {
  std::size_t count = 0;
  log.each_before(log.end(), [&count](auto, const Change& change) {
    count += change.protocol == kPerson ? 1 : 0;
    return true;
  });
  demand(count == model.facts.changes.size(), "the count of changes of people is wrong");
  for (const auto& [number, expected] : model.facts.changes) {
    const std::string name = "change " + std::to_string(number);
    const Change* const change = log.find(number);
    if (change == nullptr) throw Violation(name + " is lost");
    if (change->action != expected.action) disagree(name, "action");
    const bool is_counted = change->outcome == ChangeOutcome::kCounted;
    if (is_counted != expected.jobs.has_value()) disagree(name, "outcome");
    if (change->count != expected.jobs.value_or(0)) disagree(name, "number of jobs");
  }
}

// ---- finished jobs ------------------------------------------------------------------------------

JobEnd end_of(ModelEnd end) {
  switch (end) {
    case ModelEnd::kSucceeded:
      return JobEnd::kSucceeded;
    case ModelEnd::kFailed:
      return JobEnd::kFailed;
    case ModelEnd::kExpired:
      return JobEnd::kExpired;
    case ModelEnd::kGone:
      break;
  }
  return JobEnd::kGone;
}

/// The latest first. Those that ended together may be in any order.
void compare_finished(const FinishedJobs& finished, const Model& model) {
  if (model.finished_max() == 0) return;
  std::deque<ModelFinished> left = model.facts.finished;
  demand(finished.size() == std::min(left.size(), model.finished_max()),
         "the count of finished jobs is wrong");
  std::size_t seen = 0;
  finished.each_before(finished.end(), Time{}, [&](auto, const FinishedJob& job) {
    const std::string name = "finished job " + std::to_string(job.id);
    const auto expected = std::find_if(
        left.begin(), left.end(), [&](const ModelFinished& each) { return each.id == job.id; });
    if (expected == left.end()) throw Violation(name + " is one too many");
    if (expected->ended_at != left.back().ended_at) disagree(name, "place among the others");
    if (job.ended_at != expected->ended_at) disagree(name, "end");
    if (job.how != end_of(expected->how)) disagree(name, "outcome");
    if (job.queue() != expected->queue) disagree(name, "queue");
    if (job.wid() != expected->wid) disagree(name, "worker");
    left.erase(expected);
    ++seen;
    return true;
  });
  demand(seen == finished.size(), "a finished job is not listed");
}

}  // namespace

BatchRole role_named(std::string_view name) {
  if (name == "complete") return BatchRole::kComplete;
  return name == "success" ? BatchRole::kSuccess : BatchRole::kDeath;
}

void compare_features(const Broker& broker, const Model& model) {
  const Store& store = broker.ledger().store();
  std::size_t locks = 0;
  std::size_t lent = 0;
  for (const auto& [id, expected] : model.facts.jobs) {
    compare_job(broker, model, id, expected);
    const ModelFeatures& features = expected.features;
    locks += features.holds_lock ? 1 : 0;
    const bool runs = expected.state == JobState::kReserved;
    lent += features.holds_lock && features.until_start && runs ? 1 : 0;
  }
  demand(store.jobs().locks().size() == locks, "the count of locks is wrong");
  demand(broker.view().jobs().lock_count() == locks - lent, "the count of locks in force is wrong");
  compare_failures(store, model);
  compare_batches(store, model);
  compare_slots(store, model);
  compare_marks(store.error_marks(), model);
  compare_views(store.saved_views(), model);
  compare_changes(store.audit_log(), model);
  compare_tokens(store.tokens(), model);
  compare_finished(store.finished(), model);
  demand(store.tracks().size() == model.facts.tracks.size(), "the count of tracks is wrong");
  demand(store.ended_pushes().size() == model.facts.ended_pushes.size(),
         "the count of pushes that are remembered is wrong");
  for (const auto& [jid, expected] : model.facts.tracks) {
    compare_track(store.tracks().find(jid), jid, expected);
  }
}

std::string stored_features(const Store& store) {
  std::string bytes;
  for (const JobBatches::Slot slot : store.batches().by_creation()) {
    const JobBatch& batch = store.batches().at(slot);
    bytes += batch.added_view();
    encode(JobBatchChanged{.id = batch.id, .fields = batch.fields}, bytes);
  }
  std::map<std::string, std::string> tracks;
  for (Tracks::Slot slot = 0; slot < store.tracks().slot_end(); ++slot) {
    const Track* const track = store.tracks().in_slot(slot);
    if (track != nullptr) encode(record_of(*track), tracks[track->jid]);
  }
  for (const auto& [jid, record] : tracks) bytes += record;
  std::map<PushKey, std::string> pushes;
  const EndedPushes& ended = store.ended_pushes();
  for (EndedPushes::Slot slot = 0; slot < ended.slot_end(); ++slot) {
    const PushEnded* const push = ended.in_slot(slot);
    if (push != nullptr) encode(PushEnded(*push), pushes[push->key]);
  }
  for (const auto& [key, record] : pushes) bytes += record;
  store.error_marks().each([&bytes](std::uint64_t group, const ErrorMark& mark) {
    encode(ErrorMarked{.group = group, .mark = mark}, bytes);
  });
  store.saved_views().each([&bytes](const ViewSaved& view) { encode(view, bytes); });
  store.audit_log().each_before(store.audit_log().end(), [&](auto number, const Change& change) {
    encode(ChangeNoted{.number = number, .change = change}, bytes);
    return true;
  });
  store.tokens().each([&bytes](const Token& token) { encode(TokenAdded{.token = token}, bytes); });
  const FinishedJobs& finished = store.finished();
  if (finished.is_durable()) {
    finished.each_before(finished.end(), Time{}, [&](auto number, const FinishedJob& job) {
      encode(record_of(number, job), bytes);
      return true;
    });
  }
  for (const std::string& name : {kThrottledQueue, kLimitedType}) {
    const Throttle* const throttle = store.throttles().table().find(name);
    if (throttle == nullptr || !throttle->by_hand) continue;
    const ThrottleLimits& limits = *throttle->by_hand;
    bytes += "by hand " + name + " " + std::to_string(limits.concurrency) + " " +
             std::to_string(limits.worker) + " " + std::to_string(limits.per_key) + " " +
             std::to_string(limits.timeout_s) + "\n";
  }
  return bytes;
}

}  // namespace millrace::simulation
