#include <algorithm>

#include "simulation/model/workload.hpp"

/// What clients say of locks, times, tracks and batches.
namespace millrace::simulation {
namespace {

using std::chrono::milliseconds;

constexpr int kUniqueArguments = 3;
constexpr std::size_t kBatchesMost = 8;
constexpr int kGenerationsMost = 3;

const std::vector<Duration> kLockTimes = {500ms, 3s, 90s, 3600s, 10 * 24h};
const std::vector<std::string> kKeys = {"acme", "bolt", "corp"};
const std::vector<Duration> kLifetimes = {500ms, 2s, 20s, 3600s, 24h};

int generation_of(const Model& model, int batch) {
  const auto found = model.facts.batches.find(batch);
  return found == model.facts.batches.end() ? 0 : 1 + generation_of(model, found->second.parent);
}

}  // namespace

JobWishes Workload::draw_wishes(const Model& model, Time now) {
  static const std::vector<std::string> kConflicts = {"jid", "ok"};
  JobWishes wishes;
  if (random_.one_in(2)) {
    wishes.unique = static_cast<int>(random_.between(1, kUniqueArguments));
    wishes.until_start = random_.one_in(2);
    if (!random_.one_in(8)) wishes.unique_for = random_.pick(kLockTimes);
    if (random_.one_in(6)) wishes.conflict = random_.pick(kConflicts);
  }
  if (random_.one_in(4)) wishes.expires_in = random_.pick(kLifetimes);
  if (random_.one_in(8)) {
    wishes.expires_at = now + model.wall_ahead() + milliseconds(random_.below(6000)) - 1s;
  }
  wishes.is_tracked = random_.one_in(2);
  if (random_.one_in(2)) wishes.batch = draw_batch(model);
  if (!random_.one_in(3)) wishes.key = random_.pick(kKeys);
  return wishes;
}

/// 0: there is none. Seldom what is no name of a batch.
int Workload::draw_batch(const Model& model) {
  if (random_.one_in(30)) return kNoBatch;
  std::vector<int> numbers;
  for (const auto& [number, batch] : model.facts.batches) {
    if (!batch.bid.empty()) numbers.push_back(number);
  }
  return numbers.empty() ? 0 : random_.pick(numbers);
}

void Workload::draw_track(const Model& model, Command& command, Time now) {
  std::vector<std::string> jids;
  for (const auto& [id, job] : model.facts.jobs) {
    if (job.is_pushed) jids.push_back(job.name);
  }
  for (const auto& [jid, track] : model.facts.tracks) jids.push_back(jid);
  if (!jids.empty() && !random_.one_in(20)) command.name = random_.pick(jids);
  if (random_.one_in(2)) command.percent = static_cast<int>(random_.below(101));
  if (random_.one_in(2)) command.desc = std::string(random_.below(4), 'd');
  if (random_.one_in(4)) {
    const std::uint64_t bound_ms = random_.one_in(8) ? 2 * 24 * 3'600'000 : 200'000;
    command.reserve_until = now + model.wall_ahead() + milliseconds(random_.below(bound_ms)) - 10s;
  }
}

void Workload::draw_new_batch(const Model& model, Command& command) {
  static const std::vector<std::string> kRoles = {"complete", "success", "death"};
  command.name.clear();
  if (random_.one_in(2)) command.batch = draw_batch(model);
  const auto parent = model.facts.batches.find(command.batch);
  if (parent != model.facts.batches.end()) command.name = parent->second.bid;
  if (parent == model.facts.batches.end() && command.batch != 0) command.name = kNoBid;
  if (generation_of(model, command.batch) >= kGenerationsMost) command.name.clear();
  // Enough of them: one more that is refused.
  if (model.facts.batches.size() >= kBatchesMost) {
    command.name = kNoBid;
    command.batch = kNoBatch;
  }
  for (const std::string& role : kRoles) {
    const bool is_needed = role == "success" && command.jobs.empty();
    if (!is_needed && random_.one_in(role == "death" ? 4 : 2)) continue;
    JobText job;
    job.name = "callback-" + std::to_string(model.facts.next_id) + "-" + std::to_string(++named_);
    job.queue = random_.pick(kQueues);
    job.reserve_for_s = static_cast<std::uint32_t>(random_.between(60, 90));
    job.retry = static_cast<std::int64_t>(random_.below(5)) - 1;
    job.priority = static_cast<int>(random_.between(1, 9));
    job.padding_bytes = random_.below(20);
    job.wishes.is_tracked = random_.one_in(2);
    job.wishes.role = role;
    command.jobs.push_back(job);
  }
}

void Workload::draw_use_of_batch(const Model& model, Command& command) {
  command.batch = draw_batch(model);
  const auto found = model.facts.batches.find(command.batch);
  command.name = found == model.facts.batches.end() ? kNoBid : found->second.bid;
}

}  // namespace millrace::simulation
