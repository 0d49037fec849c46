#include "core/state/features/cron_entries.hpp"

#include <utility>

#include "base/check.hpp"
#include "core/model/codec.hpp"

namespace millrace {

CronChanged record_of(const CronEntry& entry) {
  return {.id = entry.id,
          .content = entry.content,
          .planned = entry.planned,
          .is_paused = entry.is_paused,
          .gone_since = entry.gone_since,
          .runs = entry.runs};
}

const CronEntry* CronEntries::find(std::string_view id) const {
  const auto found = slots_.find(id);
  return found == slots_.end() ? nullptr : entries_[found->second].get();
}

void CronEntries::each(const std::function<void(const CronEntry&)>& visit) const {
  for (const auto& [id, slot] : slots_) visit(*entries_[slot]);
}

/// A new entry is not in the order of the log yet.
CronEntries::Slot CronEntries::open(std::string_view id) {
  Slot slot = static_cast<Slot>(entries_.size());
  if (free_slots_.empty()) {
    entries_.push_back(nullptr);
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  entries_[slot] = std::make_unique<CronEntry>();
  entries_[slot]->id = id;
  slots_.emplace(std::string(id), slot);
  return slot;
}

void CronEntries::apply(CronChanged&& record) {
  const auto found = slots_.find(record.id);
  const bool is_new = found == slots_.end();
  const Slot slot = is_new ? open(record.id) : found->second;
  if (!is_new) leave_log(slot);
  CronEntry& entry = *entries_[slot];
  entry.content = record.content;
  entry.planned = record.planned;
  entry.is_paused = record.is_paused;
  entry.gone_since = record.gone_since;
  entry.runs = std::move(record.runs);
  enter_log(slot);
}

void CronEntries::apply(CronRemoved&& record) {
  const auto found = slots_.find(record.id);
  if (found == slots_.end()) return;
  const Slot slot = found->second;
  leave_log(slot);
  slots_.erase(found);
  entries_[slot].reset();
  free_slots_.push_back(slot);
}

void CronEntries::enter_log(Slot slot) {
  log_.push_newest(slot, 0);
  record_bytes_ += encoded_bytes(record_of(*entries_[slot]));
}

/// Before the entry changes, since its record's length is counted as the entry is now.
void CronEntries::leave_log(Slot slot) {
  const std::uint64_t bytes = encoded_bytes(record_of(*entries_[slot]));
  CHECK(bytes <= record_bytes_);
  record_bytes_ -= bytes;
  log_.remove(slot);
}

void CronEntries::rewrite_oldest(std::string& batch) {
  const Slot slot = log_.oldest().value();
  encode(record_of(*entries_[slot]), batch);
  leave_log(slot);
  enter_log(slot);
}

}  // namespace millrace
