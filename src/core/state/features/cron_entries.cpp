#include "core/state/features/cron_entries.hpp"

#include <utility>

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
  return found == slots_.end() ? nullptr : &entries_[found->second];
}

void CronEntries::each(const std::function<void(const CronEntry&)>& visit) const {
  for (const auto& [id, slot] : slots_) visit(entries_[slot]);
}

void CronEntries::apply(CronChanged&& record) {
  const auto found = slots_.find(record.id);
  const bool is_new = found == slots_.end();
  const Slot slot = is_new ? entries_.allocate() : found->second;
  CronEntry& entry = entries_[slot];
  if (is_new) {
    entry.id = record.id;
    slots_.emplace(entry.id, slot);
  } else {
    leave_log(slot);
    forget_runs(slot);
  }
  entry.content = record.content;
  entry.planned = record.planned;
  entry.is_paused = record.is_paused;
  entry.gone_since = record.gone_since;
  entry.runs = std::move(record.runs);
  await_runs(slot);
  enter_log(slot);
}

void CronEntries::apply(CronRemoved&& record) {
  const auto found = slots_.find(record.id);
  if (found == slots_.end()) return;
  const Slot slot = found->second;
  leave_log(slot);
  forget_runs(slot);
  slots_.erase(found);
  entries_.free(slot);
}

void CronEntries::await_runs(Slot slot) {
  for (const CronRun& run : entries_[slot].runs) {
    if (run.is_open()) open_runs_.insert_or_assign(run.job, slot);
  }
}

void CronEntries::forget_runs(Slot slot) {
  for (const CronRun& run : entries_[slot].runs) open_runs_.erase(run.job);
}

}  // namespace millrace
