#include "core/broker/batches/batch_operations.hpp"

#include <algorithm>

#include "core/broker/parts.hpp"

namespace millrace {

JobBatchId BatchOperations::draw_id() {
  const JobBatches& batches = parts_.ledger.store().batches();
  JobBatchId id = random_.draw();
  while (id == 0 || batches.find(id) != nullptr) id = random_.draw();
  return id;
}

Answer<Done> BatchOperations::add(const NewJobBatch& batch, Time now) {
  Ledger& ledger = parts_.ledger;
  JobBatches& batches = ledger.store().batches();
  if (!parts_.admission.admits_jobs()) return Refusal::kNoRoom;
  if (batch.parent != 0 && batches.find(batch.parent) == nullptr) return Refusal::kNoSuchBatch;
  CHECK(batch.id != 0 && batches.find(batch.id) == nullptr);
  CHECK(batch.description.size() <= kBatchDescriptionBytesMax);
  ledger.commit(JobBatchAdded{.id = batch.id,
                              .sequence = ledger.store().totals().draw_id(),
                              .parent = batch.parent,
                              .created_at = now,
                              .description = batch.description,
                              .callbacks = batch.callbacks});
  ++parts_.tally.batches_added;
  if (batch.parent == 0) return Done{};
  batches.edit(batch.parent, [now](JobBatchFields& parent) {
    ++parent.children;
    ++parent.unsettled;
    ++parent.unsuccessful;
    if (!parent.has(JobBatchFields::kCommitted)) parent.since = now;
  });
  parts_.batch_callbacks.work(now);
  return Done{};
}

Answer<Done> BatchOperations::open(JobBatchId id, Time now) {
  JobBatches& batches = parts_.ledger.store().batches();
  if (batches.find(id) == nullptr) return Refusal::kNoSuchBatch;
  batches.edit(id, [now](JobBatchFields& batch) {
    batch.set(JobBatchFields::kCommitted, false);
    batch.set(JobBatchFields::kFinished, false);
    batch.since = now;
  });
  parts_.batch_callbacks.work(now);
  return Done{};
}

Answer<Done> BatchOperations::commit(JobBatchId id, Time now) {
  JobBatches& batches = parts_.ledger.store().batches();
  if (batches.find(id) == nullptr) return Refusal::kNoSuchBatch;
  batches.edit(id, [](JobBatchFields& batch) {
    batch.set(JobBatchFields::kCommitted, true);
    batch.set(JobBatchFields::kWasCommitted, true);
  });
  parts_.batch_callbacks.work(now);
  return Done{};
}

Answer<std::uint64_t> BatchOperations::accept_lost(JobBatchId id, std::uint64_t count_max,
                                                   Time now) {
  JobBatches& batches = parts_.ledger.store().batches();
  const JobBatch* const batch = batches.find(id);
  if (batch == nullptr) return Refusal::kNoSuchBatch;
  const std::uint64_t accepted = std::min(batch->fields.lost, count_max);
  batches.edit(id, [accepted](JobBatchFields& fields) { fields.lost -= accepted; });
  parts_.batch_callbacks.work(now);
  return accepted;
}

Answer<Done> BatchOperations::remove(JobBatchId id, Time now) {
  const JobBatch* const batch = parts_.ledger.store().batches().find(id);
  if (batch == nullptr) return Refusal::kNoSuchBatch;
  parts_.batch_lives.drop(*batch);
  parts_.batch_callbacks.work(now);
  return Done{};
}

}  // namespace millrace
