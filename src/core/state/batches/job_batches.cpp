#include "core/state/batches/job_batches.hpp"

#include <memory>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "core/model/codec.hpp"
#include "core/model/wall_clock.hpp"

namespace millrace {

const JobBatch* JobBatches::find(JobBatchId id) const {
  const auto slot = slots_.find(id);
  return slot ? &batches_[*slot] : nullptr;
}

JobBatchAdded JobBatches::added_of(const JobBatch& batch) {
  std::string_view bytes = batch.added_view();
  Outcome<Record> record = decode(bytes);
  // It was encoded here.
  CHECK(record.has_value());
  return std::get<JobBatchAdded>(std::move(*record));
}

std::size_t JobBatches::memory_bytes() const {
  // The batch, and its entries in the index and in the orders.
  constexpr std::size_t kBatchBytes = sizeof(JobBatch) + 24;
  return batches_.size() * kBatchBytes + families_.size() * 32 + text_bytes_;
}

// ---- changes ------------------------------------------------------------------------------------

void JobBatches::note_change(Slot slot) {
  JobBatch& batch = batches_[slot];
  if (!batch.is_changed) {
    batch.is_changed = true;
    changed_.push_back(slot);
  }
  update_indexes(slot);
}

void JobBatches::update_indexes(Slot slot) {
  JobBatch& batch = batches_[slot];
  update_alarm(slot);
  if (batch.is_listed || !batch.fields.has_work()) return;
  batch.is_listed = true;
  work_.push_back(slot);
}

const JobBatch* JobBatches::next_work() {
  while (!work_.empty()) {
    const Slot slot = work_.front();
    const JobBatch* const batch = batches_.find(slot);
    // The slot may be free by now, or another batch's.
    if (batch != nullptr && batch->is_listed) {
      if (batch->fields.has_work()) return batch;
      batches_[slot].is_listed = false;
    }
    work_.pop_front();
  }
  return nullptr;
}

Time JobBatches::deadline_of(const JobBatch& batch) {
  const JobBatchFields& fields = batch.fields;
  // The log may say anything of `since`.
  if (!fields.has(JobBatchFields::kCommitted)) return moved_by(fields.since, kOpenBatchLimit);
  if (!fields.has(JobBatchFields::kFinished)) return kNever;
  return moved_by(fields.since, kFinishedBatchLimit);
}

void JobBatches::clear_alarm(Slot slot) {
  JobBatch& batch = batches_[slot];
  if (batch.alarm == kNever) return;
  Alarms& order = batch.is_alarm_of_open ? open_ : finished_;
  CHECK(order.erase(slot) == 1);
  batch.alarm = kNever;
}

void JobBatches::update_alarm(Slot slot) {
  JobBatch& batch = batches_[slot];
  const bool is_open = !batch.fields.has(JobBatchFields::kCommitted);
  const Time deadline = deadline_of(batch);
  // With every push the deadline of an open batch moves. The alarm follows when it has come.
  const bool is_good = batch.alarm == deadline || (is_open && batch.alarm < deadline);
  if (is_good && (batch.alarm == kNever || batch.is_alarm_of_open == is_open)) return;
  clear_alarm(slot);
  if (deadline == kNever) return;
  batch.alarm = deadline;
  batch.is_alarm_of_open = is_open;
  (is_open ? open_ : finished_).insert(slot);
}

void JobBatches::reset_alarm(JobBatchId id) {
  const auto slot = slots_.find(id);
  if (!slot) return;
  clear_alarm(*slot);
  update_alarm(*slot);
}

// ---- the batch of records -----------------------------------------------------------------------

std::size_t JobBatches::write(std::string& out) {
  std::size_t count = 0;
  for (const Slot slot : changed_) {
    const JobBatch* const found = batches_.find(slot);
    if (found == nullptr || !found->is_changed) continue;
    JobBatch& batch = batches_[slot];
    batch.is_changed = false;
    const std::size_t begin = out.size();
    encode(JobBatchChanged{.id = batch.id, .fields = batch.fields}, out);
    set_changed_bytes(batch, out.size() - begin);
    ++count;
  }
  changed_.clear();
  return count;
}

void JobBatches::count_changed_bytes(JobBatch& batch) {
  set_changed_bytes(batch, encoded_bytes(JobBatchChanged{.id = batch.id, .fields = batch.fields}));
}

void JobBatches::set_changed_bytes(JobBatch& batch, std::uint64_t bytes) {
  CHECK(batch.changed_bytes <= record_bytes_);
  record_bytes_ = record_bytes_ - batch.changed_bytes + bytes;
  batch.changed_bytes = static_cast<std::uint32_t>(bytes);
}

// ---- as a live kind -----------------------------------------------------------------------------

void JobBatches::apply(JobBatchAdded&& record) {
  if (const auto known = slots_.find(record.id)) {
    log_.remove(*known);
    return log_.push_newest(*known, 0);
  }
  const Slot slot = batches_.allocate();
  JobBatch& batch = batches_[slot];
  batch.id = record.id;
  batch.parent = record.parent;
  batch.sequence = record.sequence;
  std::string added;
  encode(record, added);
  batch.added = std::make_unique<char[]>(added.size());
  batch.added_bytes = static_cast<std::uint32_t>(added.copy(batch.added.get(), added.size()));
  text_bytes_ += batch.added_bytes;
  record_bytes_ += batch.added_bytes;
  for (const BatchCallback& callback : record.callbacks) {
    // Only a damaged record has such a one.
    if (callback.batch_role() == BatchRole::kMember) continue;
    batch.fields.set_callback(callback.batch_role(), CallbackState::kWaiting);
  }
  batch.fields.since = record.created_at;
  slots_.insert(slot);
  creation_.insert(slot);
  if (batch.parent != 0) families_.emplace(std::pair(batch.parent, batch.sequence), slot);
  // The offset does not matter: a batch of records is never cut, so its beginning will do.
  log_.push_newest(slot, 0);
  count_changed_bytes(batch);
  update_indexes(slot);
  totals_.mark_used(0, batch.sequence);
}

void JobBatches::apply(JobBatchChanged&& record) {
  const auto slot = slots_.find(record.id);
  if (!slot) return;
  JobBatch& batch = batches_[*slot];
  batch.fields = record.fields;
  count_changed_bytes(batch);
  update_indexes(*slot);
}

void JobBatches::apply(JobBatchRemoved&& record) {
  const auto slot = slots_.find(record.id);
  if (!slot) return;
  const JobBatch& batch = batches_[*slot];
  clear_alarm(*slot);
  log_.remove(*slot);
  CHECK(batch.record_bytes() <= record_bytes_);
  record_bytes_ -= batch.record_bytes();
  text_bytes_ -= batch.added_bytes;
  creation_.erase(*slot);
  if (batch.parent != 0) families_.erase(std::pair(batch.parent, batch.sequence));
  slots_.erase(*slot);
  batches_.free(*slot);
}

void JobBatches::rewrite_oldest(std::string& out) {
  const Slot slot = log_.oldest().value();
  JobBatch& batch = batches_[slot];
  out += batch.added_view();
  encode(JobBatchChanged{.id = batch.id, .fields = batch.fields}, out);
  count_changed_bytes(batch);
  log_.remove(slot);
  log_.push_newest(slot, 0);
}

}  // namespace millrace
