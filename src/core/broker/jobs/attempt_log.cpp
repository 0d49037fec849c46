#include "core/broker/jobs/attempt_log.hpp"

#include <string>
#include <utility>

#include "base/check.hpp"

namespace millrace {

void AttemptLog::note(const Job& job, Attempt attempt, Time now) {
  CHECK(job.state == JobState::kReserved && job.reservation() != nullptr);
  if (!admission_.admits_growth()) return;
  const Reservation& held = *job.reservation();
  attempt.number = job.tallies().reserves;
  attempt.began = held.reserved_at;
  attempt.ended = now;
  attempt.wid = held.wid;
  attempt.connection = held.consumer;
  if (const auto worker = workers_.find(held.wid); worker != workers_.end()) {
    attempt.hostname = worker->second.hostname;
    attempt.pid = worker->second.pid;
  } else if (const GoneWorker* const gone = gone_.find(held.wid)) {
    attempt.hostname = gone->hostname;
    attempt.pid = gone->pid;
  }
  ledger_.commit(AttemptEnded{.id = job.id, .attempt = std::move(attempt)});
}

void AttemptLog::note_ended_late(const Job& job, std::string_view wid) {
  const Attempts* const attempts = ledger_.store().jobs().attempts_of(job);
  const Attempt* const taken = attempts == nullptr ? nullptr : attempts->find_taken(wid);
  if (taken == nullptr || taken->end != AttemptEnd::kWorkerLost || !admission_.admits_growth())
    return;
  Attempt attempt = *taken;
  attempt.end = AttemptEnd::kEndedLate;
  ledger_.commit(AttemptEnded{.id = job.id, .attempt = std::move(attempt)});
}

}  // namespace millrace
