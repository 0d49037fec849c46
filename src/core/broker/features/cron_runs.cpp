#include "core/broker/features/cron_runs.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/text.hpp"

namespace millrace {

Answer<Done> CronRuns::begin(std::string_view id, std::uint64_t content, Time wall) {
  const CronEntry* const entry = find(id);
  if (entry == nullptr) {
    if (!admission_.admits_growth()) return Refusal::kNoRoom;
    CHECK(id.size() <= kCronIdBytesMax);
    ledger_.commit(CronChanged{.id = id, .content = content, .planned = wall});
    return Done{};
  }
  CronChanged record = record_of(*entry);
  const bool was_gone = entry->gone_since != Time{};
  const bool was_ahead = entry->planned > wall + kCronAheadMax;
  if (entry->content == content && !was_gone && !was_ahead) return Done{};
  record.content = content;
  record.gone_since = Time{};
  record.planned = was_ahead ? wall : std::max(entry->planned, wall);
  ledger_.commit(std::move(record));
  return Done{};
}

void CronRuns::end(std::string_view id, Time wall) {
  const CronEntry* const entry = find(id);
  if (entry == nullptr) return;
  if (entry->gone_since == Time{}) {
    CronChanged record = record_of(*entry);
    record.gone_since = wall;
    ledger_.commit(std::move(record));
  } else if (wall - entry->gone_since >= kCronForgottenAfter) {
    // Not the entry's own id: it goes with the entry.
    ledger_.commit(CronRemoved{.id = id});
  }
}

void CronRuns::note(std::string_view id, CronRun run) {
  const CronEntry* const entry = find(id);
  CHECK(entry != nullptr);
  ++(run.job == 0 ? tally_.cron_refused : tally_.cron_enqueued);
  run.problem = one_line(run.problem, kCronProblemBytesMax);
  CronChanged record = record_of(*entry);
  if (!run.is_by_hand) record.planned = std::max(record.planned, run.planned);
  if (record.runs.size() == kCronRunsMax) record.runs.erase(record.runs.begin());
  record.runs.push_back(std::move(run));
  ledger_.commit(std::move(record));
}

void CronRuns::skip(std::string_view id, Time planned) {
  const CronEntry* const entry = find(id);
  CHECK(entry != nullptr);
  if (planned <= entry->planned) return;
  CronChanged record = record_of(*entry);
  record.planned = planned;
  ledger_.commit(std::move(record));
}

Answer<Done> CronRuns::pause(std::string_view id) {
  const CronEntry* const entry = find(id);
  if (entry == nullptr) return Refusal::kNotFound;
  if (entry->is_paused) return Done{};
  if (!admission_.admits_growth()) return Refusal::kNoRoom;
  CronChanged record = record_of(*entry);
  record.is_paused = true;
  ledger_.commit(std::move(record));
  return Done{};
}

Answer<Done> CronRuns::resume(std::string_view id, Time wall) {
  const CronEntry* const entry = find(id);
  if (entry == nullptr) return Refusal::kNotFound;
  if (!entry->is_paused) return Done{};
  CronChanged record = record_of(*entry);
  record.is_paused = false;
  record.planned = std::max(entry->planned, wall);
  ledger_.commit(std::move(record));
  return Done{};
}

}  // namespace millrace
