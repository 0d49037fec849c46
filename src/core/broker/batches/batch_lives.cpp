#include "core/broker/batches/batch_lives.hpp"

#include <algorithm>

namespace millrace {
namespace {

void take_one(std::uint32_t& count) {
  if (count > 0) --count;
}

}  // namespace

void BatchLives::end_due(Time now) {
  end_open(now);
  end_finished(now);
}

void BatchLives::end_open(Time now) {
  JobBatches& batches = ledger_.store().batches();
  for (std::size_t i = 0; i < kSliceJobs; ++i) {
    if (batches.open().empty()) return;
    const JobBatch& batch = batches.at(*batches.open().begin());
    if (batch.alarm > now) return;
    if (JobBatches::deadline_of(batch) > now) {
      batches.reset_alarm(batch.id);
    } else if (batch.fields.has(JobBatchFields::kWasCommitted)) {
      batches.edit(batch.id,
                   [](JobBatchFields& fields) { fields.set(JobBatchFields::kCommitted, true); });
    } else {
      ++tally_.batches_dropped;
      drop(batch);
    }
  }
}

void BatchLives::end_finished(Time now) {
  JobBatches& batches = ledger_.store().batches();
  for (std::size_t i = 0; i < kSliceJobs; ++i) {
    const JobBatches::Alarms& order = batches.finished();
    const bool are_too_many = order.size() > kFinishedBatchesMax;
    if (order.empty()) return;
    const JobBatch& batch = batches.at(*order.begin());
    if (batch.alarm > now && !are_too_many) return;
    if (batch.fields.children == 0) {
      forget(batch);
    } else {
      // A parent lives as long as its children.
      batches.edit(batch.id, [now](JobBatchFields& fields) { fields.since = now; });
    }
  }
}

/// Of a batch that has not succeeded, its parent remembers that much.
void BatchLives::forget(const JobBatch& batch) {
  if (batch.parent != 0) {
    ledger_.store().batches().edit(batch.parent,
                                   [](JobBatchFields& parent) { take_one(parent.children); });
  }
  ledger_.commit(JobBatchRemoved{.id = batch.id});
}

void BatchLives::drop(const JobBatch& batch) {
  if (batch.parent != 0) {
    ledger_.store().batches().edit(batch.parent, [&batch](JobBatchFields& parent) {
      take_one(parent.children);
      if (!batch.fields.has(JobBatchFields::kSettled)) take_one(parent.unsettled);
      if (!batch.fields.has(JobBatchFields::kSuccessful)) take_one(parent.unsuccessful);
    });
  }
  ledger_.commit(JobBatchRemoved{.id = batch.id});
}

Time BatchLives::next_due() const {
  const JobBatches& batches = ledger_.store().batches();
  if (batches.finished().size() > kFinishedBatchesMax) return kAtOnce;
  const auto first_of = [&batches](const JobBatches::Alarms& order) {
    return order.empty() ? kNever : batches.at(*order.begin()).alarm;
  };
  return std::min(first_of(batches.open()), first_of(batches.finished()));
}

}  // namespace millrace
