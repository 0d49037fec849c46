#include "core/broker/features/followed_runs.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/state/batch_reader.hpp"

namespace millrace {
namespace {

/// A batch with more of them has removed jobs in bulk.
constexpr std::size_t kRemovedMax = 10'000;

}  // namespace

Outcome<Done> FollowedRuns::replay(std::string_view batch, Lsn begin, Time now) {
  now_ = now;
  runs_ = 0;
  removed_from_.clear();
  for (BatchReader reader(batch); !reader.is_done();) {
    Outcome<std::vector<Record>> records = reader.next();
    if (!records) return records.error();
    for (Record& record : *records) replay(std::move(record));
  }
  ledger_.place(begin);
  const Duration ahead = now - ledger_.latest_time();
  ahead_ = std::min(ahead_.value_or(ahead), ahead);
  return Done{};
}

void FollowedRuns::replay(Record&& record) {
  put_ = 0;
  std::visit([this](const auto& kind) { note(kind); }, record);
  one_.push_back(std::move(record));
  ledger_.replay(std::move(one_));
  one_.clear();
  if (put_ != 0) count_put(put_);
}

void FollowedRuns::note(const JobAdded& record) {
  const bool is_known = ledger_.store().jobs().find(record.id) != nullptr;
  if (!is_known) put_ = record.id;
  note_failure(record.id, record.fields);
}

void FollowedRuns::note(const JobChanged& record) {
  note_failure(record.id, record.fields);
  const Reservation* const held =
      record.fields.state == JobState::kReserved ? record.fields.reservation() : nullptr;
  const Job* const job = ledger_.store().jobs().find(record.id);
  if (held == nullptr || job == nullptr || job->state != JobState::kReady) return;
  QueueMeter& meter = ledger_.store().queues().at(job->queue).measured();
  meter.last_reserved_at = now_;
  meter.wait.add(std::max(held->reserved_at - job->enqueued_at, Duration{}));
}

void FollowedRuns::note(const JobRemoved& record) {
  const Job* const job = ledger_.store().jobs().find(record.id);
  if (job == nullptr) return;
  if (const Reservation* const held = job->reservation()) {
    const Time there = now_ - ahead_.value_or(Duration{});
    return count_run(*job, RunEnd::kDone, std::max(there - held->reserved_at, Duration{}));
  }
  if (job->state != JobState::kReady || removed_from_.size() == kRemovedMax) return;
  removed_from_.push_back(ledger_.store().queues().at(job->queue).name);
}

void FollowedRuns::note(const AttemptEnded& record) {
  const Attempt& attempt = *record.attempt;
  const Job* const job = ledger_.store().jobs().find(record.id);
  const bool has_failed = attempt.has_failure || attempt.end == AttemptEnd::kFailed;
  if (job == nullptr || !has_failed) return;
  failed_ = record.id;
  count_run(*job, RunEnd::kFailed, attempt.ended - attempt.began);
}

/// They end a batch, where runs have ended in it.
void FollowedRuns::note(const CountersChanged& record) {
  const std::uint64_t before = ledger_.store().totals().now().processed;
  const std::uint64_t ran = record.processed - std::min(before, record.processed);
  const std::size_t others = std::min(ran - std::min(ran, runs_), removed_from_.size());
  for (std::size_t i = 0; i < others; ++i) {
    Queue* const queue = ledger_.store().queues().find(removed_from_[i]);
    if (queue != nullptr) queue->measured().processed.add(now_);
  }
}

void FollowedRuns::note_failure(JobId id, const JobFields& fields) {
  if (std::exchange(failed_, 0) != id || watch_ == nullptr) return;
  if (const Failure* const failure = fields.failure()) watch_->on_failed(*failure, id, now_);
}

void FollowedRuns::count_put(JobId id) {
  const Job* const job = ledger_.store().jobs().find(id);
  if (job == nullptr) return;
  ++tally_.jobs_put;
  Queue& queue = ledger_.store().queues().at(job->queue);
  ++queue.total_jobs;
  queue.measured().enqueued.add(now_);
}

void FollowedRuns::count_run(const Job& job, RunEnd end, Duration took) {
  ++runs_;
  QueueMeter& meter = ledger_.store().queues().at(job.queue).measured();
  meter.processed.add(now_);
  meter.run.add(took);
  if (end == RunEnd::kFailed) meter.failed.add(now_);
  types_.note_run(job, end, took, now_);
}

}  // namespace millrace
