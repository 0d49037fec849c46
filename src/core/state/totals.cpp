#include "core/state/totals.hpp"

#include <algorithm>
#include <map>

#include "core/model/codec.hpp"

namespace millrace {

void Totals::mark_used(JobId id, Sequence sequence) {
  // Not counted as a change: whoever replays the records learns the same.
  counters_.next_id = std::max({counters_.next_id, id + 1, sequence + 1});
}

void Totals::count_processed() {
  is_changed_ = true;
  ++counters_.processed;
  ++counters_.processed_today;
}

void Totals::count_failed() {
  is_changed_ = true;
  ++counters_.failed;
  ++counters_.failed_today;
}

void Totals::reset() {
  is_changed_ = true;
  counters_.processed = counters_.failed = 0;
  counters_.processed_today = counters_.failed_today = 0;
}

std::optional<DayCounts> Totals::begin_day(Time wall) {
  const auto day = std::chrono::floor<std::chrono::days>(wall.time_since_epoch()).count();
  // A clock that was set back stays in the later day, so that no day is told twice. But somebody
  // may have set it years ahead for a moment.
  constexpr int kDaysAheadMax = 2;
  if (counters_.day > day + kDaysAheadMax) {
    is_changed_ = true;
    counters_.day = static_cast<std::int32_t>(day);
  }
  if (day <= counters_.day) return std::nullopt;
  const DayCounts over{.day = counters_.day,
                       .processed = counters_.processed_today,
                       .failed = counters_.failed_today};
  is_changed_ = true;
  counters_.day = static_cast<std::int32_t>(day);
  counters_.processed_today = counters_.failed_today = 0;
  // Days without runs need no room. Failed runs are processed too.
  return over.processed > 0 ? std::optional(over) : std::nullopt;
}

std::size_t Totals::write(std::string& batch) {
  encode(counters_, batch);
  place_.write();
  is_changed_ = false;
  return 1;
}

/// Ids never become free again: a record of jobs may have told of more than the totals know.
void Totals::apply(CountersChanged&& record) {
  record.next_id = std::max(counters_.next_id, record.next_id);
  counters_ = record;
  place_.write();
  is_changed_ = false;
}

std::uint64_t Totals::live_bytes() const {
  return encoded_bytes(counters_);
}

std::vector<DayCounts> merged(std::vector<DayCounts> days, const DayCounts& day) {
  days.push_back(day);
  std::map<std::int32_t, DayCounts> by_day;
  for (const DayCounts& each : days) {
    DayCounts& sum = by_day[each.day];
    sum.day = each.day;
    sum.processed += each.processed;
    sum.failed += each.failed;
  }
  days.clear();
  for (const auto& [number, sum] : by_day) days.push_back(sum);
  return days;
}

HistoryChanged Days::with(const DayCounts& day) const {
  HistoryChanged record{.days = merged(record_.days, day)};
  // The history is one record, so it must be bounded.
  if (record.days.size() > kHistoryDaysMax) record.days.erase(record.days.begin());
  return record;
}

void Days::apply(HistoryChanged&& record) {
  record_ = std::move(record);
  if (record_.days.empty()) {
    record_bytes_ = 0;
    place_.forget();
    return;
  }
  record_bytes_ = encoded_bytes(record_);
  place_.write();
}

void Days::rewrite_oldest(std::string& batch) {
  encode(record_, batch);
  place_.write();
}

}  // namespace millrace
