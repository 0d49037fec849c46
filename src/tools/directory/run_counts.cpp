#include "tools/directory/run_counts.hpp"

#include <cstddef>
#include <utility>

#include "core/state/totals.hpp"

namespace millrace::tools {

RunCounts sum_of(RunCounts counts, std::uint64_t processed, std::uint64_t failed,
                 const std::vector<DayCounts>& days, std::int32_t today) {
  CountersChanged& total = counts.counters;
  total.processed += processed;
  total.failed += failed;
  if (days.empty()) return counts;
  if (total.day < today) {
    const DayCounts over{.day = total.day,
                         .processed = std::exchange(total.processed_today, 0),
                         .failed = std::exchange(total.failed_today, 0)};
    if (over.processed > 0) counts.days = merged(std::move(counts.days), over);
    total.day = today;
  }
  for (const DayCounts& day : days) {
    // A day of the other server's zone may have begun before it did in UTC.
    if (day.day >= total.day) {
      total.processed_today += day.processed;
      total.failed_today += day.failed;
    } else {
      counts.days = merged(std::move(counts.days), day);
    }
  }
  if (counts.days.size() > kHistoryDaysMax) {
    counts.days.erase(counts.days.begin(),
                      counts.days.end() - static_cast<std::ptrdiff_t>(kHistoryDaysMax));
  }
  return counts;
}

}  // namespace millrace::tools
