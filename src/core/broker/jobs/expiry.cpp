#include "core/broker/jobs/expiry.hpp"

#include <utility>

namespace millrace {

void Expiry::depart(ClientId client, Time now) {
  if (!release_all(client, now)) departed_.push_back(client);
}

/// True when the client holds nothing any more. That a connection closes counts neither as a
/// release nor as a timeout.
bool Expiry::release_all(ClientId client, Time now) {
  const Store& store = parts_.store;
  for (std::size_t moved = 0; moved < kSliceJobs && !parts_.admission.is_batch_full(); ++moved) {
    // Asked for anew: the last job takes the order with it.
    const TimeOrder* held = store.jobs().orders().held_by(client);
    if (held == nullptr) return true;
    const Job& job = store.jobs().at(held->begin()->slot);
    parts_.moves.make_ready(job, job.fields(), now);
  }
  return store.jobs().orders().held_by(client) == nullptr;
}

void Expiry::release_departed(Time now) {
  if (departed_.empty()) return;
  // One client a turn, in a circle: thousands may leave at once, each with thousands of jobs.
  const ClientId client = departed_.front();
  departed_.pop_front();
  if (!release_all(client, now)) departed_.push_back(client);
}

void Expiry::end_due(Time now) {
  const TimeOrder& reserved = parts_.store.jobs().orders().reserved();
  for (std::size_t moved = 0; moved < kSliceJobs; ++moved) {
    if (reserved.empty() || reserved.begin()->when > now || parts_.admission.is_batch_full())
      return;
    end(parts_.store.jobs().at(reserved.begin()->slot), now);
  }
}

void Expiry::end(const Job& job, Time now) {
  CHECK(job.state == JobState::kReserved);
  if (parts_.workers.extends(*job.reservation(), now)) {
    JobFields fields = job.fields();
    fields.when = now + std::chrono::seconds(job.ttr_s);
    return parts_.events.change(job, std::move(fields), now);
  }
  if (job.reservation()->is_held_by_worker()) {
    // For a worker it is a failed run, with the texts of the reference server.
    ++parts_.tally.reservations_expired;
    parts_.gone.note_taker(job.reservation()->wid);
    FailedRun run{.errtype = "ReservationExpired",
                  .message = "Faktory job reservation expired",
                  .backtrace = {},
                  .end = AttemptEnd::kExpired};
    parts_.retries.fail(job, std::move(run), now);
    return;
  }
  ++parts_.tally.reservations_timed_out;
  parts_.attempts.note(job, {.end = AttemptEnd::kTimedOut}, now);
  JobFields fields = job.fields();
  ++fields.edit_history().tallies.timeouts;
  parts_.moves.make_ready(job, std::move(fields), now);
}

Time Expiry::next_due() const {
  if (!departed_.empty()) return kAtOnce;
  const TimeOrder& reserved = parts_.store.jobs().orders().reserved();
  return reserved.empty() ? kNever : reserved.begin()->when;
}

}  // namespace millrace
