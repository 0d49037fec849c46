#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/model/record.hpp"
#include "core/state/live_kind.hpp"
#include "core/state/log_order.hpp"

namespace millrace {

/// The totals of this server, and the source of ids. Counting makes no record of its own: the
/// totals are written once a batch that changed them, as they are.
class Totals {
 public:
  /// `next_id` is above every id and sequence that was drawn, or seen in a record.
  [[nodiscard]] const CountersChanged& now() const { return counters_; }

  /// An id, or a sequence, never given before.
  [[nodiscard]] JobId draw_id() { return counters_.next_id++; }
  /// A record has both, so neither may be drawn again.
  void mark_used(JobId id, Sequence sequence);

  /// A run ended, or failed. The day is the present one, see `begin_day`.
  void count_processed();
  void count_failed();
  /// All but the ids begin again at zero.
  void reset();

  /// Begins the day of `wall`, if it is later than the present one: a clock that was set back does
  /// not begin a day anew. Answers the day that is over, if anything happened on it.
  [[nodiscard]] std::optional<DayCounts> begin_day(Time wall);

  /// True when they changed since they were last written.
  [[nodiscard]] bool has_unwritten() const { return is_changed_; }
  std::size_t write(std::string& batch);

  // ---- as a live kind ---------------------------------------------------------------------------

  void apply(CountersChanged&& record);
  [[nodiscard]] std::optional<Lsn> oldest_place() const {
    // When they have changed, the batch that is being collected will end with them.
    return is_changed_ ? std::nullopt : place_.oldest_place();
  }
  void rewrite_oldest(std::string& batch) { write(batch); }
  void place(Lsn begin) { place_.place(begin); }
  [[nodiscard]] std::uint64_t live_bytes() const;
  [[nodiscard]] static std::size_t memory_bytes() { return 0; }
  static constexpr AtFlush kAtFlush = AtFlush::kStay;

 private:
  CountersChanged counters_;
  bool is_changed_ = false;
  /// A log begins without totals. Its beginning is needed all the same, until they are written: the
  /// records of jobs there tell which ids are used.
  LonePlace place_{LogPlace::in_log(0)};
};

/// The days with one more among them: oldest first, and each once, with all that was counted on it.
/// A day may come again when the clock was set back.
[[nodiscard]] std::vector<DayCounts> merged(std::vector<DayCounts> days, const DayCounts& day);

/// The days that are over, oldest first, as HistoryChanged tells them.
class Days {
 public:
  [[nodiscard]] const std::vector<DayCounts>& list() const { return record_.days; }
  /// The record that adds a day, and drops the oldest one where there would be too many.
  [[nodiscard]] HistoryChanged with(const DayCounts& day) const;

  // ---- as a live kind ---------------------------------------------------------------------------

  void apply(HistoryChanged&& record);
  [[nodiscard]] std::optional<Lsn> oldest_place() const { return place_.oldest_place(); }
  void rewrite_oldest(std::string& batch);
  void place(Lsn begin) { place_.place(begin); }
  [[nodiscard]] std::uint64_t live_bytes() const { return record_bytes_; }
  [[nodiscard]] static std::size_t memory_bytes() { return 0; }
  static constexpr AtFlush kAtFlush = AtFlush::kStay;

 private:
  HistoryChanged record_;
  std::uint64_t record_bytes_ = 0;  ///< 0: no day is remembered, and no record needed
  LonePlace place_;
};

}  // namespace millrace
