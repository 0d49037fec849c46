#include "server/role/standby.hpp"

#include <string_view>

namespace millrace::server {

Outcome<SharedJournal::Followed> Standby::work(Time now) {
  const auto followed = journal_.follow(
      [&](std::string_view batch, Lsn begin) { return broker_.follow(batch, begin, now); });
  if (!followed || *followed != SharedJournal::Followed::kOn) return followed;
  const Journal::Extent log = journal_.extent();
  const Lsn needed = broker_.ledger().oldest_needed().value_or(log.end);
  if (log.oldest_end > log.begin && needed >= log.oldest_end) journal_.trim(needed);
  if (journal_.may_claim()) journal_.claim();
  return followed;
}

}  // namespace millrace::server
