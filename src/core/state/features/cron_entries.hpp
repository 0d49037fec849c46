#pragma once

#include <absl/container/btree_map.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/record.hpp"
#include "core/state/live_kind.hpp"
#include "core/state/log_order.hpp"

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
class CronEntries {
 public:
  CronEntries() = default;
  CronEntries(const CronEntries&) = delete;
  CronEntries& operator=(const CronEntries&) = delete;

  /// Null when there is none of that id.
  [[nodiscard]] const CronEntry* find(std::string_view id) const;
  [[nodiscard]] std::size_t count() const { return slots_.size(); }
  /// In the order of their ids.
  void each(const std::function<void(const CronEntry&)>& visit) const;

  // ---- as a live kind ---------------------------------------------------------------------------

  void apply(CronChanged&& record);
  void apply(CronRemoved&& record);
  [[nodiscard]] std::optional<Lsn> oldest_place() const { return log_.oldest_place(); }
  void rewrite_oldest(std::string& batch);
  void place(Lsn begin) {
    log_.place(begin, [](Slot) {});
  }
  [[nodiscard]] std::uint64_t live_bytes() const { return record_bytes_; }
  [[nodiscard]] static std::size_t memory_bytes() { return 0; }
  static constexpr AtFlush kAtFlush = AtFlush::kStay;

 private:
  using Slot = std::uint32_t;

  [[nodiscard]] Slot open(std::string_view id);
  void enter_log(Slot slot);
  void leave_log(Slot slot);

  std::vector<std::unique_ptr<CronEntry>> entries_;
  std::vector<Slot> free_slots_;
  absl::btree_map<std::string, Slot, std::less<>> slots_;

  struct NodeOf {
    std::vector<std::unique_ptr<CronEntry>>* entries;
    LogNode& operator()(Slot slot) const { return (*entries)[slot]->log; }
  };
  LogOrder<NodeOf> log_{NodeOf{&entries_}};
  std::uint64_t record_bytes_ = 0;
};

}  // namespace millrace
