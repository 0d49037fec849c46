#include "tools/import/target_state.hpp"

#include <random>

namespace millrace::tools {
namespace {

std::uint64_t draw_word(std::random_device& device) {
  const std::uint64_t high = device();
  return high << 32 | device();
}

}  // namespace

TargetState::TargetState(const Ledger& ledger, JobId first_id) {
  const Store& store = ledger.store();
  const Jobs& jobs = store.jobs();
  for (JobSlot slot = 0; slot < jobs.slot_end(); ++slot) {
    const Job* const job = jobs.in_slot(slot);
    if (job == nullptr || job->id >= first_id) continue;
    if (job->state == JobState::kDead) deaths_.insert(job->when);
    if (job->has_mark(job_marks::kHoldsLock) && job->features) {
      (void)take_lock(job->features->lock_key);
    }
  }
  lock_secret_ = store.lock_secret().get();
  for (const auto& [created, id] : store.queues().by_creation()) {
    const Queue& queue = store.queues().at(id);
    if (queue.paused_until == Time{}) continue;
    pauses_[queue.name] = {.until = queue.paused_until, .asked_s = queue.pause_s};
  }
  counts_ = {.counters = ledger.counters(), .days = ledger.history()};
}

Time TargetState::take_death(Time wanted) {
  while (!deaths_.insert(wanted).second) wanted += 1ns;
  return wanted;
}

LockSecretDrawn TargetState::draw_lock_secret() {
  std::random_device device;
  lock_secret_ = LockSecret{.low = draw_word(device), .high = draw_word(device)};
  return {.secret = *lock_secret_};
}

QueueChanged TargetState::kept_queue(std::string_view name, bool is_paused) const {
  QueueChanged record{.name = name, .is_kept = true};
  if (const auto pause = pauses_.find(name); pause != pauses_.end()) {
    record.paused_until = pause->second.until;
    record.pause_s = pause->second.asked_s;
  }
  if (is_paused) record.paused_until = kNever;
  return record;
}

}  // namespace millrace::tools
