#pragma once

#include <absl/container/btree_map.h>
#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/slab.hpp"
#include "core/model/record.hpp"
#include "core/state/live_kind.hpp"
#include "core/state/live_records.hpp"

namespace millrace {

/// What is remembered of a cron entry, see `CronChanged`.
struct CronEntry {
  std::string id;
  std::uint64_t content = 0;
  Time planned{};
  bool is_paused = false;
  Time gone_since{};
  std::vector<CronRun> runs;
  LogNode log;
};

/// All that is stored of an entry. The id is a view of the entry's.
[[nodiscard]] CronChanged record_of(const CronEntry& entry);

/// The cron entries that were ever in the config files and are not forgotten, by id.
class CronEntries : public LiveRecords<CronEntries> {
 public:
  /// Null when there is none of that id.
  [[nodiscard]] const CronEntry* find(std::string_view id) const;
  [[nodiscard]] std::size_t count() const { return slots_.size(); }
  /// The entry that the job is a run of, and that waits for its end. Null: there is none.
  [[nodiscard]] const CronEntry* waits_for(JobId job) const {
    if (open_runs_.empty()) return nullptr;
    const auto found = open_runs_.find(job);
    return found == open_runs_.end() ? nullptr : &entries_[found->second];
  }
  /// In the order of their ids.
  void each(const std::function<void(const CronEntry&)>& visit) const;

  // ---- as a live kind ---------------------------------------------------------------------------

  void apply(CronChanged&& record);
  void apply(CronRemoved&& record);
  [[nodiscard]] static std::size_t memory_bytes() { return 0; }
  static constexpr AtFlush kAtFlush = AtFlush::kStay;

 private:
  friend LiveRecords;

  [[nodiscard]] LogNode& node_of(Slot slot) { return entries_[slot].log; }
  [[nodiscard]] CronChanged record_in(Slot slot) const { return record_of(entries_[slot]); }
  void await_runs(Slot slot);
  void forget_runs(Slot slot);

  Slab<CronEntry> entries_;
  absl::btree_map<std::string, Slot, std::less<>> slots_;
  absl::flat_hash_map<JobId, Slot> open_runs_;
};

}  // namespace millrace
