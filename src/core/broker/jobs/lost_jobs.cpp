#include "core/broker/jobs/lost_jobs.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace millrace {
namespace {

/// Workers that are lost within this time are looked for together. A look at 100,000 reservations
/// takes milliseconds, in slices.
constexpr Duration kLookInterval = 1s;

}  // namespace

void LostJobs::work(Time now) {
  if (!parts_.admission.admits_growth()) return;
  if (!is_looking_ && next_due() <= now) {
    is_looking_ = true;
    looked_to_.reset();
    next_look_ = now + kLookInterval;
    parts_.gone.begin_look(now);
  }
  if (is_looking_) look(now);
}

Time LostJobs::next_due() const {
  if (!parts_.admission.admits_growth()) return kNever;
  if (is_looking_) return kAtOnce;
  const Time due = parts_.gone.next_due();
  return due == kNever ? kNever : std::max(due, next_look_);
}

/// In the order of their deadlines, which only become later: none is missed.
void LostJobs::look(Time now) {
  const TimeOrder& reserved = parts_.store.jobs().orders().reserved();
  for (std::size_t looks = 0; looks < kSliceJobs && !parts_.admission.is_batch_full(); ++looks) {
    // Asked for anew: a job that came back has left, and may be reserved again.
    const auto place = looked_to_ ? reserved.upper_bound(*looked_to_) : reserved.begin();
    if (place == reserved.end()) {
      is_looking_ = false;
      return parts_.gone.end_look();
    }
    looked_to_ = *place;
    const Job& job = parts_.store.jobs().at(place->slot);
    if (is_lost(job)) bring_back(job, now);
  }
}

bool LostJobs::is_lost(const Job& job) {
  const Reservation& held = *job.reservation();
  if (!held.is_held_by_worker() || held.wid.empty() || parts_.workers.contains(held.wid)) {
    return false;
  }
  if (parts_.gone.is_lost(parts_.gone.find(held.wid), job)) return true;
  parts_.gone.note_holding(held.wid);
  return false;
}

void LostJobs::bring_back(const Job& job, Time now) {
  ++parts_.tally.jobs_lost;
  parts_.gone.note_taker(job.reservation()->wid);
  parts_.store.throttles().count_reclaimed(job);
  const Attempts* const attempts = parts_.store.jobs().attempts_of(job);
  const std::size_t in_a_row = (attempts == nullptr ? 0 : attempts->lost_in_a_row()) + 1;
  const std::uint32_t most = parts_.gone.rules().poison_after;
  const bool is_poison = most != 0 && in_a_row >= most;
  if (watch_ != nullptr) {
    watch_->on_taken_back(job, parts_.store.queues().at(job.queue),
                          is_poison ? JobState::kDead : JobState::kReady, now);
  }
  if (is_poison) {
    const std::string count = std::to_string(in_a_row);
    return parts_.retries.fail(
        job,
        {.errtype = "WorkerLost",
         .message = in_a_row == 1 ? "The worker was lost while it ran this job"
                                  : count + " workers in a row were lost while they ran this job",
         .backtrace = {},
         .end = AttemptEnd::kWorkerLost},
        now);
  }
  parts_.attempts.note(job, {.end = AttemptEnd::kWorkerLost}, now);
  parts_.moves.make_ready(job, job.fields(), now);
}

}  // namespace millrace
