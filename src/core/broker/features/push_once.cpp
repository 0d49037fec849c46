#include "core/broker/features/push_once.hpp"

#include <algorithm>

namespace millrace {
namespace {

/// Of a new job and of one that is there; 0: none.
template <typename AnyJob>
JobBatchId batch_of(const AnyJob& job) {
  return job.features ? job.features->batch : 0;
}

}  // namespace

bool PushOnce::may_be(const Job& other, const NewJob& job, Time wall) const {
  if (other.kind != JobKind::kWorkUnit) return false;
  if (other.state == JobState::kDead || other.has_expired(wall)) return false;
  if (batch_of(other) != batch_of(job)) return false;
  return ledger_.store().queues().at(other.queue).name == job.queue;
}

std::optional<JobId> PushOnce::find(const NewJob& job, std::uint32_t hash, std::string_view worker,
                                    Time now) const {
  if (!rules_.is_on || hash == 0) return std::nullopt;
  const Living living = find_living(job, hash, worker, now);
  // An earlier run of a job that its worker puts back has ended, perhaps. This one must not be
  // lost.
  if (living.id || living.is_put_back || !remembers()) return living.id;
  return find_ended(job, now);
}

PushOnce::Living PushOnce::find_living(const NewJob& job, std::uint32_t hash,
                                       std::string_view worker, Time now) const {
  const Store& store = ledger_.store();
  const Jobs& jobs = store.jobs();
  // Nearly always there is none.
  if (!jobs.names().newest(hash)) return {};
  const Time wall = store.wall_clock().shown(now);
  Living living;
  bool was_long = false;
  for (const JobSlot slot : jobs.names().candidates(hash, kNamesakesMax)) {
    const Job& other = jobs.at(slot);
    if (!may_be(other, job, wall)) continue;
    const std::size_t bytes = other.body_bytes;
    if (std::max(bytes, job.body.size()) > WorkUnitFormat::kComparedBytesMax) {
      const std::size_t differ =
          std::max(bytes, job.body.size()) - std::min(bytes, job.body.size());
      if (was_long || differ > kLongBodiesDifferMax) continue;
      was_long = true;
    }
    if (!jobs.load_body(other) || !format_.is_same(other, job.body)) continue;
    const Reservation* const held = other.reservation();
    const bool is_own = held != nullptr && !worker.empty() && held->wid == worker;
    if (!is_own) return {.id = other.id};
    living.is_put_back = true;
  }
  return living;
}

// ---- after the end ------------------------------------------------------------------------------

std::optional<JobId> PushOnce::find_ended(const NewJob& job, Time now) const {
  const Store& store = ledger_.store();
  // Where nothing is remembered, there may be no secret either.
  if (store.ended_pushes().size() == 0 || !store.lock_secret().get()) return std::nullopt;
  const auto key = format_.push_key(job.body, {.queue = job.queue, .batch = batch_of(job)},
                                    *store.lock_secret().get());
  if (!key) return std::nullopt;
  const PushEnded* const ended = store.ended_pushes().find(*key);
  const bool is_remembered = ended != nullptr && now < moved_by(ended->ended_at, rules_.after_end);
  return is_remembered ? std::optional(ended->job) : std::nullopt;
}

void PushOnce::note_end(const Job& job, Time now) {
  if (!admission_.admits_growth()) return;
  const Store& store = ledger_.store();
  if (!store.jobs().load_body(job)) return;
  const LockSecret secret = store.lock_secret().get().value_or(drawn_);
  const std::string& queue = store.queues().at(job.queue).name;
  const auto key =
      format_.push_key(job.body_view(), {.queue = queue, .batch = batch_of(job)}, secret);
  if (!key) return;
  if (!store.lock_secret().get()) ledger_.commit(LockSecretDrawn{.secret = secret});
  ledger_.commit(PushEnded{.key = *key, .job = job.id, .ended_at = now});
  if (store.ended_pushes().size() > kEndedMax) forget_oldest();
}

void PushOnce::forget_oldest() {
  ledger_.commit(PushForgotten{.key = ledger_.store().ended_pushes().oldest()->key});
}

void PushOnce::forget_due(Time now) {
  for (std::size_t forgotten = 0; forgotten < kSliceJobs && next_due() <= now; ++forgotten) {
    forget_oldest();
  }
}

Time PushOnce::next_due() const {
  const PushEnded* const oldest = ledger_.store().ended_pushes().oldest();
  if (oldest == nullptr) return kNever;
  return remembers() ? moved_by(oldest->ended_at, rules_.after_end) : kAtOnce;
}

}  // namespace millrace
