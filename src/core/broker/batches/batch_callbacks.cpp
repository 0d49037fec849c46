#include "core/broker/batches/batch_callbacks.hpp"

#include "core/model/fields.hpp"

namespace millrace {
namespace {

/// One more, or one less.
void count(std::uint32_t& number, bool is_more) {
  if (is_more) {
    ++number;
  } else if (number > 0) {
    --number;
  }
}

}  // namespace

void BatchCallbacks::work_slice(Time now) {
  JobBatches& batches = parts_.ledger.store().batches();
  for (std::size_t i = 0; i < kSliceChanges && !parts_.admission.is_batch_full(); ++i) {
    if (!parts_.admission.admits_growth()) return;
    const JobBatch* const batch = batches.next_work();
    if (batch == nullptr) return;
    work_on(*batch, now);
  }
}

/// One step. What is left of the batch's work is found by the next one.
void BatchCallbacks::work_on(const JobBatch& batch, Time now) {
  for (const BatchRole role : {BatchRole::kDeath, BatchRole::kComplete, BatchRole::kSuccess}) {
    if (batch.fields.is_due(role)) return enqueue(batch, role, now);
  }
  update_parent(batch, now);
}

void BatchCallbacks::enqueue(const JobBatch& batch, BatchRole role, Time now) {
  JobBatches& batches = parts_.ledger.store().batches();
  const JobBatchAdded added = JobBatches::added_of(batch);
  for (const BatchCallback& callback : added.callbacks) {
    if (callback.batch_role() != role) continue;
    NewJob job{.kind = JobKind::kWorkUnit,
               .queue = callback.queue,
               .body = callback.body,
               .pri = callback.pri,
               .ttr_s = callback.ttr_s,
               .delay_s = callback.delay_s,
               .due = callback.due};
    JobFeatures& features = job.features.emplace();
    features.batch = batch.id;
    features.role = callback.role & 3;
    features.jid_hash = callback.jid_hash & fields::kJidHashBits;
    features.is_tracked = callback.is_tracked ? 1 : 0;
    const JobId id = parts_.new_jobs.add(job, now);
    ++parts_.tally.batch_callbacks;
    return batches.edit(batch.id, [role, id](JobBatchFields& fields) {
      fields.set_callback(role, CallbackState::kEnqueued);
      fields.callback_job(role) = id;
    });
  }
  // Only a damaged record has none of it.
  batches.edit(batch.id,
               [role](JobBatchFields& fields) { fields.set_callback(role, CallbackState::kNone); });
}

void BatchCallbacks::update_parent(const JobBatch& batch, Time now) {
  JobBatches& batches = parts_.ledger.store().batches();
  const bool is_settled = batch.fields.is_settled();
  const bool is_successful = batch.fields.is_successful();
  const bool changes_settled = batch.fields.has(JobBatchFields::kSettled) != is_settled;
  const bool changes_successful = batch.fields.has(JobBatchFields::kSuccessful) != is_successful;
  if (batch.parent != 0 && (changes_settled || changes_successful)) {
    batches.edit(batch.parent, [&](JobBatchFields& parent) {
      if (changes_settled) count(parent.unsettled, !is_settled);
      if (changes_successful) count(parent.unsuccessful, !is_successful);
    });
  }
  batches.edit(batch.id, [&](JobBatchFields& fields) {
    fields.set(JobBatchFields::kSettled, is_settled);
    fields.set(JobBatchFields::kSuccessful, is_successful);
    const bool is_finished = fields.is_finished();
    if (is_finished && !fields.has(JobBatchFields::kFinished)) fields.since = now;
    fields.set(JobBatchFields::kFinished, is_finished);
  });
}

Time BatchCallbacks::next_due() const {
  const bool waits = !has_work() ||
                     // With room they are done in the turn that finds it.
                     !parts_.admission.admits_growth();
  return waits ? kNever : kAtOnce;
}

}  // namespace millrace
