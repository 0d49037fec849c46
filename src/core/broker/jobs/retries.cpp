#include "core/broker/jobs/retries.hpp"

#include <algorithm>

#include "core/model/codec.hpp"

namespace millrace {
namespace {

/// What the attempts take besides the first one, of which the failure has the texts. Names of a
/// worker that are longer than usual count for that one too.
std::size_t bytes_to_count(const Attempts& attempts) {
  constexpr std::size_t kOneBytes = 64;
  const std::size_t bytes = encoded_bytes(attempts);
  return bytes - std::min(bytes, kOneBytes);
}

/// True when the texts of all attempts are more than a fourth of the job.
bool is_text_long(const Failure& failure, const Attempts& attempts, std::size_t body_bytes) {
  // A record of any job has about as much besides its body.
  constexpr std::size_t kShortBytes = 64;
  std::size_t bytes = bytes_to_count(attempts) + failure.errtype.size() + failure.message.size();
  for (const std::string& line : failure.backtrace) bytes += line.size();
  return bytes > std::max(kShortBytes, body_bytes / 4);
}

}  // namespace

std::optional<RetryDelays> Retries::delays_of(const Job& job) const {
  if (!find_delays_) return std::nullopt;
  return find_delays_(job, parts_.ledger.store().queues().at(job.queue).name);
}

void Retries::fail(const Job& job, FailedRun run, Time now) {
  CHECK(job.state == JobState::kReserved);
  Ledger& ledger = parts_.ledger;
  // First: the body says how many retries the job wants.
  const bool has_body = ledger.store().jobs().load_body(job);
  parts_.reservations.count_run(job, RunEnd::kFailed, job.reservation()->reserved_at, now);
  if (!has_body) {
    parts_.attempts.note(job,
                         {.end = run.end,
                          .errtype = std::move(run.errtype),
                          .message = std::move(run.message),
                          .backtrace = std::move(run.backtrace)},
                         now);
    return parts_.unreadable.end_run(job, now);
  }
  // A job that costs one worker after the other is not tried again, whatever it asks for.
  const std::int64_t wanted = parts_.format.identify(job).retry;
  const bool is_lost = run.end == AttemptEnd::kWorkerLost;
  const std::optional<RetryDelays> delays = delays_of(job);
  std::optional<Verdict> verdict = judge(is_lost ? -1 : wanted, job.failure(), now,
                                         {random_.draw(), delays ? &*delays : nullptr});
  // `retry` 0: the job is forgotten with its first failure, but for what finished jobs tell of it.
  if (!verdict) {
    Failure failure{.failed_at = now,
                    .errtype = std::move(run.errtype),
                    .message = std::move(run.message),
                    .backtrace = std::move(run.backtrace)};
    if (watch_ != nullptr) watch_->on_failed(failure, job.id, now);
    if (ledger.store().finished().limits().jobs_max > 0) {
      parts_.attempts.note(job,
                           {.end = run.end,
                            .errtype = std::move(failure.errtype),
                            .message = std::move(failure.message)},
                           now);
    }
    return parts_.moves.remove(job, JobEnd::kFailed, now);
  }
  // The failure itself must be stored, or the job would run for ever. Its texts need not be.
  const bool may_grow = parts_.admission.admits_growth();
  if (!may_grow) run = {};
  parts_.attempts.note(job, {.end = run.end, .has_failure = true}, now);
  JobFields fields = job.fields();
  Failure& failure = verdict->failure;
  // Somebody may retry it after all.
  if (is_lost && job.failure() == nullptr) failure.remaining = wanted;
  failure.errtype = std::move(run.errtype);
  failure.message = std::move(run.message);
  failure.backtrace = std::move(run.backtrace);
  failure.group = {};
  if (watch_ != nullptr) watch_->on_failed(failure, job.id, now);
  fields.state = verdict->state;
  fields.when = verdict->state == JobState::kDead
                    ? ledger.store().jobs().orders().time_of_death(now)
                    : failure.next_at;
  fields.end_reservation();
  const Attempts* const attempts = ledger.store().jobs().attempts_of(job);
  const bool is_long =
      may_grow && attempts != nullptr && is_text_long(failure, *attempts, job.body_bytes);
  fields.edit_history().failure = std::move(failure);
  // Compaction writes a job whole when it frees the segment of its last whole record. If that
  // record were short and the texts long, freeing a segment would write more than the segment
  // holds.
  if (is_long) {
    parts_.events.change_whole(job, std::move(fields), now);
  } else {
    parts_.events.change(job, std::move(fields), now);
  }
}

}  // namespace millrace
