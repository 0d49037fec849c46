#pragma once

#include <utility>

#include "core/broker/admission_control.hpp"
#include "core/broker/features/push_once.hpp"
#include "core/broker/features/tracking.hpp"
#include "core/broker/requests.hpp"
#include "core/broker/view.hpp"
#include "core/model/refusal.hpp"
#include "core/state/ledger.hpp"

namespace millrace {

/// Every way in which a job begins, changes and ends passes here, and its features follow: what
/// happens to a job's lock and to its batch is decided by the state that it leaves and the one that
/// it enters, or by its end. All of it is recorded together with the job. What becomes due in a
/// batch by that is done by `BatchCallbacks`.
class JobEvents {
 public:
  /// All outlive this.
  struct Parts {
    Ledger& ledger;
    Tracking& tracking;
    PushOnce& push_once;
    const AdmissionControl& admission;
    Tally& tally;
  };
  explicit JobEvents(const Parts& parts)
      : ledger_(parts.ledger),
        tracking_(parts.tracking),
        push_once_(parts.push_once),
        admission_(parts.admission),
        tally_(parts.tally) {}

  /// Whether a job with these features may be pushed. Refused: its batch is not there, or another
  /// job holds its lock.
  [[nodiscard]] Answer<Done> admit(const JobFeatures& features, Time now) const;

  /// Whether the job, if it is dead, can be wanted after all: else it would be there a second time,
  /// beside the job that holds its lock, or its body still cannot be read.
  [[nodiscard]] bool may_come_back(const Job& job, Time now) const {
    if (job.state != JobState::kDead) return true;
    const bool wants_lock = job.features && job.features->wants_lock();
    if (wants_lock && !is_free(job.features->lock_key, wall(now))) return false;
    return !job.has_mark(job_marks::kBodyUnreadable) || ledger_.store().jobs().reload_body(job);
  }

  /// Records the new job. Its features were admitted.
  void add(JobAdded&& record, Time now) {
    if (record.fields.features) begin(record, now);
    ledger_.commit(std::move(record));
  }

  /// Records the job with these fields: those that it has, and the caller's changes. Where it would
  /// run again without a body that can be read, it is dead instead.
  void change(const Job& job, JobFields fields, Time now) {
    if (job.has_mark(job_marks::kBodyUnreadable)) follow_body(job, fields, now);
    if (job.features) follow(job, fields, now);
    ledger_.commit(JobChanged{.id = job.id, .fields = std::move(fields)});
  }
  /// The same, with the whole job: see `Ledger::commit_whole`.
  void change_whole(const Job& job, JobFields fields, Time now);
  /// Makes them the fields of a job that is dead since its body cannot be read.
  void bury(JobFields& fields, Time now) const;

  /// Records that the job, which holds its lock, has it no more. A run that is given back does not
  /// take it again.
  void free_lock(const Job& job, Time now);

  /// The push of the job will be known after that end.
  [[nodiscard]] bool remembers(const Job& job, JobEnd end) const {
    return push_once_.remembers() && job.kind == JobKind::kWorkUnit && end != JobEnd::kFlushed;
  }
  /// Records that the job is gone. Of a tracked one the body may be read, and of any whose push is
  /// remembered: where it cannot be, that is forgotten.
  void remove(const Job& job, JobEnd end, Time now) {
    if (job.features) this->end(job, end, now);
    if (remembers(job, end)) push_once_.note_end(job, now);
    if (end != JobEnd::kFlushed) note_finished(job, end, now);
    const CronEntry* const entry = ledger_.store().cron().waits_for(job.id);
    if (entry != nullptr) note_cron_run(*entry, job, end, now);
    ledger_.commit(JobRemoved{.id = job.id});
  }

 private:
  /// Of what the log tells, memory has no more and no less: so where the log must not grow, nobody
  /// remembers an end that would be in it.
  void note_finished(const Job& job, JobEnd end, Time now) {
    FinishedJobs& finished = ledger_.store().finished();
    const Queue& queue = ledger_.store().queues().at(job.queue);
    const Attempts* const attempts = ledger_.store().jobs().attempts_of(job);
    if (!finished.is_durable()) {
      finished.note(job, queue, end, now, attempts);
    } else if (admission_.admits_growth()) {
      ledger_.commit(finished.record_of(job, queue, end, now, attempts));
    }
  }

  void note_cron_run(const CronEntry& entry, const Job& job, JobEnd end, Time now);
  void begin(JobAdded& record, Time now);
  void follow(const Job& job, JobFields& fields, Time now);
  void end(const Job& job, JobEnd end, Time now);
  void follow_batch(const Job& job, JobFields& fields);
  void follow_body(const Job& job, JobFields& fields, Time now) const;
  void follow_lock(const Job& job, JobFields& fields, Time now);
  void take_lock(const JobFeatures& features, JobFields& fields);
  void lose_lock(const Job& job, JobFields fields);
  [[nodiscard]] Time first_run(const Job& job, const JobFields& fields, Time wall) const;
  [[nodiscard]] bool is_free(const LockKey& key, Time wall) const;
  [[nodiscard]] Time wall(Time now) const { return ledger_.store().wall_clock().shown(now); }

  Ledger& ledger_;
  Tracking& tracking_;
  PushOnce& push_once_;
  const AdmissionControl& admission_;
  Tally& tally_;
};

}  // namespace millrace
