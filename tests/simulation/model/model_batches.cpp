#include <algorithm>
#include <utility>

#include "simulation/model/model.hpp"

/// Batches of jobs.
namespace millrace::simulation {
namespace {

constexpr Duration kOpenLifetime = 30min;
constexpr Duration kFinishedLifetime = 24h;

const std::string kComplete = "complete";
const std::string kSuccess = "success";
const std::string kDeath = "death";

}  // namespace

// ---- what follows from the jobs -----------------------------------------------------------------

Model::BatchCounts Model::counts_of(int batch) const {
  BatchCounts counts;
  for (const auto& [id, job] : facts.jobs) {
    const ModelFeatures& features = job.features;
    if (features.batch != batch || !features.role.empty()) continue;
    ++counts.pending;
    counts.failing += features.has_failed ? 1 : 0;
    counts.unexecuted += features.has_run ? 0 : 1;
  }
  counts.unsuccessful = facts.batches.at(batch).children_forgotten;
  for (const auto& [number, child] : facts.batches) {
    if (child.parent != batch) continue;
    ++counts.children;
    counts.unsettled += is_settled(number) ? 0 : 1;
    counts.unsuccessful += is_successful(number) ? 0 : 1;
  }
  return counts;
}

Callback Model::state_of(const ModelBatch& batch, const std::string& role, Callback absent) const {
  const auto found = batch.callbacks.find(role);
  return found == batch.callbacks.end() ? absent : found->second.state;
}

/// All members have run, and nothing of the children is under way.
bool Model::is_executed(int number) const {
  if (!facts.batches.at(number).is_committed) return false;
  const BatchCounts counts = counts_of(number);
  return counts.unexecuted == 0 && counts.unsettled == 0;
}

bool Model::is_completed(int number) const {
  const Callback complete = state_of(facts.batches.at(number), kComplete, Callback::kGone);
  const bool is_over = complete == Callback::kSucceeded || complete == Callback::kGone;
  return is_over && is_executed(number);
}

/// Nothing is left that could fail.
bool Model::is_all_good(int number) const {
  if (facts.batches.at(number).lost != 0 || !is_completed(number)) return false;
  const BatchCounts counts = counts_of(number);
  return counts.pending == 0 && counts.unsuccessful == 0;
}

/// For its parent: its complete callback has ended, and its success callback is neither there nor
/// to come.
bool Model::is_settled(int number) const {
  const Callback success = state_of(facts.batches.at(number), kSuccess, Callback::kGone);
  if (success == Callback::kEnqueued || !is_completed(number)) return false;
  return success != Callback::kWaiting || !is_all_good(number);
}

bool Model::is_successful(int number) const {
  const Callback success = state_of(facts.batches.at(number), kSuccess, Callback::kSucceeded);
  return success == Callback::kSucceeded && is_all_good(number);
}

bool Model::is_finished(int number) const {
  const ModelBatch& batch = facts.batches.at(number);
  const bool is_dying = state_of(batch, kDeath, Callback::kGone) == Callback::kEnqueued;
  return !is_dying && is_settled(number) && counts_of(number).pending == 0;
}

bool Model::is_due(int number, const std::string& role) const {
  const ModelBatch& batch = facts.batches.at(number);
  if (batch.callbacks.at(role).state != Callback::kWaiting) return false;
  if (role == kComplete) return is_executed(number);
  if (role == kSuccess) return is_all_good(number);
  return batch.is_committed && batch.has_death;
}

bool Model::has_children(int number) const {
  return std::any_of(facts.batches.begin(), facts.batches.end(),
                     [&](const auto& entry) { return entry.second.parent == number; });
}

// ---- what happens -------------------------------------------------------------------------------

/// An open batch is in use.
void Model::join_batch(const ModelFeatures& features, Time now) {
  if (!features.role.empty()) return;
  ModelBatch& batch = facts.batches.at(features.batch);
  ++batch.total;
  if (!batch.is_committed) batch.since = now;
}

void Model::end_in_batch(JobId id, const ModelJob& job, End how) {
  const auto found = facts.batches.find(job.features.batch);
  if (found == facts.batches.end()) return;
  ModelBatch& batch = found->second;
  const bool has_succeeded = how == End::kSucceeded;
  if (job.features.role.empty()) {
    batch.lost += has_succeeded ? 0 : 1;
    batch.has_death = batch.has_death || !has_succeeded;
    return;
  }
  ModelCallback& callback = batch.callbacks.at(job.features.role);
  if (callback.id == id) callback.state = has_succeeded ? Callback::kSucceeded : Callback::kGone;
}

/// The callbacks that are due, and that the server has pushed with the next numbers.
bool Model::push_callbacks(Time now) {
  bool has_pushed = false;
  while (push_callback(now)) has_pushed = true;
  return has_pushed;
}

bool Model::push_callback(Time now) {
  for (auto& [number, batch] : facts.batches) {
    for (auto& [role, callback] : batch.callbacks) {
      if (callback.state != Callback::kWaiting || callback_job(batch.bid, role) != facts.next_id)
        continue;
      if (!is_due(number, role)) continue;
      callback.state = Callback::kEnqueued;
      callback.id = facts.next_id;
      ModelFeatures features = features_of(callback.job, now);
      features.batch = number;
      add(pushed(callback.job, features), now);
      return true;
    }
  }
  return false;
}

std::string Model::undue_callback() const {
  for (const auto& [number, batch] : facts.batches) {
    for (const auto& [role, callback] : batch.callbacks) {
      const JobId id = callback_job(batch.bid, role);
      if (callback.state != Callback::kWaiting || id == 0) continue;
      const BatchCounts counts = counts_of(number);
      return role + " of " + batch.bid + " as job " + std::to_string(id) + " with " +
             std::to_string(counts.unexecuted) + " members that have not run, " +
             std::to_string(counts.pending) + " pending ones, " + std::to_string(counts.unsettled) +
             " unsettled children; the next id is " + std::to_string(facts.next_id);
    }
  }
  return "";
}

void Model::work_on_batches(Time now) {
  if (facts.batches.empty()) return;
  push_callbacks(now);
  for (auto& [number, batch] : facts.batches) {
    const bool was_finished = std::exchange(batch.is_finished, is_finished(number));
    if (batch.is_finished && !was_finished) batch.since = now;
  }
}

/// Nobody has used it for long: it counts as committed, or was never meant.
void Model::end_open_batches(Time now) {
  std::vector<int> ended;
  for (auto& [number, batch] : facts.batches) {
    if (batch.is_committed || batch.since + kOpenLifetime > now) continue;
    if (batch.was_committed) {
      batch.is_committed = true;
    } else {
      ended.push_back(number);
    }
  }
  for (const int number : ended) {
    facts.batches.erase(number);
    // Its children have no parent then.
    for (auto& [other, child] : facts.batches) {
      if (child.parent == number) child.parent = 0;
    }
  }
}

/// A parent lives as long as its children.
void Model::end_batches(Time now) {
  end_open_batches(now);
  std::vector<int> ended;
  for (auto& [number, batch] : facts.batches) {
    if (!batch.is_finished || batch.since + kFinishedLifetime > now) continue;
    if (!has_children(number) || !has_batch(batch.bid)) {
      ended.push_back(number);
    } else {
      batch.since = now;
    }
  }
  for (const int number : ended) {
    const ModelBatch& batch = facts.batches.at(number);
    const auto parent = facts.batches.find(batch.parent);
    if (parent != facts.batches.end() && !is_successful(number)) {
      ++parent->second.children_forgotten;
    }
    facts.batches.erase(number);
  }
}

// ---- commands -----------------------------------------------------------------------------------

void Model::make_batch(ClientNumber client, const Command& command, Time now) {
  const auto parent = facts.batches.find(command.batch);
  if (!command.name.empty() && parent == facts.batches.end()) {
    return expect(client, "-ERR No such batch " + command.name + "\r\n");
  }
  if (admission_ != Admission::kEverything) {
    return expect_parts(client, {"-ERR server is out of space", "\r\n"});
  }
  ModelBatch batch{.parent = command.name.empty() ? 0 : command.batch, .since = now};
  for (const JobText& job : command.jobs) {
    batch.callbacks[job.wishes.role] = {.job = job};
  }
  draw_id(now);  // its place among all batches
  const int number = facts.next_batch++;
  facts.batches[number] = batch;
  if (batch.parent != 0 && !parent->second.is_committed) parent->second.since = now;
  expect_parts(client, {"$16\r\nb-", "\r\n"});
  clients_.at(client).expected.back().new_batch = number;
}

void Model::name_batch(int batch, const std::string& bid) {
  const auto found = facts.batches.find(batch);
  if (found != facts.batches.end()) found->second.bid = bid;
}

void Model::use_batch(ClientNumber client, const Command& command, Time now) {
  const auto found = facts.batches.find(command.batch);
  if (found == facts.batches.end()) {
    return expect(client, "-ERR No such batch " + command.name + "\r\n");
  }
  ModelBatch& batch = found->second;
  if (command.verb == Verb::kBatchStatus) return expect_status(client, command.batch);
  if (command.verb == Verb::kBatchCommit) {
    batch.is_committed = batch.was_committed = true;
    return expect(client, "+OK\r\n");
  }
  batch.is_committed = batch.is_finished = false;
  batch.since = now;
  expect(client, "$16\r\n" + batch.bid + "\r\n");
}

void Model::expect_status(ClientNumber client, int number) {
  const ModelBatch& batch = facts.batches.at(number);
  const BatchCounts counts = counts_of(number);
  const auto state = [&](const std::string& role) {
    switch (state_of(batch, role, Callback::kWaiting)) {
      case Callback::kWaiting:
        return R"("")";
      case Callback::kEnqueued:
        return R"("1")";
      case Callback::kSucceeded:
        return R"("2")";
      case Callback::kGone:
        break;
    }
    return role == kComplete ? R"("2")" : R"("1")";
  };
  expect_parts(client, {"$", R"({"bid":")" + batch.bid + '"',
                        R"(,"total":)" + std::to_string(batch.total) + R"(,"pending":)" +
                            std::to_string(counts.pending) + R"(,"failed":)" +
                            std::to_string(counts.failing + batch.lost) + R"(,"complete_st":)" +
                            state(kComplete) + R"(,"success_st":)" + state(kSuccess) + "}\r\n"});
}

}  // namespace millrace::simulation
