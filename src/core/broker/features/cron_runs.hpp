#pragma once

#include <cstdint>
#include <string_view>

#include "core/broker/admission_control.hpp"
#include "core/broker/view.hpp"
#include "core/model/features/cron_run.hpp"
#include "core/model/refusal.hpp"
#include "core/state/ledger.hpp"

namespace millrace {

/// Remembers which runs of cron entries were done, so that each is done once, whatever ends the
/// process. When a run is due, and what it pushes, its caller knows. All times are those of the
/// wall clock.
///
/// A run is `Broker::put`, and then `note`, with nothing appended to the log in between: so both
/// are in one batch, and a crash leaves both or none.
class CronRuns {
 public:
  /// All of them outlive this.
  CronRuns(Ledger& ledger, const AdmissionControl& admission, Tally& tally)
      : ledger_(ledger), admission_(admission), tally_(tally) {}

  /// A config file has the entry. One that is new, or whose content has changed, has no runs before
  /// `wall`. The same holds where the last run was planned for much later than now: the clock was
  /// wrong then. Refused: the entry is not known yet, and records must not grow.
  Answer<Done> begin(std::string_view id, std::uint64_t content, Time wall);

  /// No config file has the entry any more. It is remembered for `kCronForgottenAfter`, with its
  /// pause; a call after that removes it.
  void end(std::string_view id, Time wall);

  /// The entry is there. A run was done, or was refused. One that was planned will not be done
  /// again, nor any that was planned for earlier.
  void note(std::string_view id, CronRun run);

  /// The entry is there. What was planned for `planned` or earlier will not be done.
  void skip(std::string_view id, Time planned);

  /// No runs are due while an entry is paused, and afterwards none that was planned for before
  /// `wall`. Refused: there is no such entry; a pause while records must not grow.
  Answer<Done> pause(std::string_view id);
  Answer<Done> resume(std::string_view id, Time wall);

 private:
  [[nodiscard]] const CronEntry* find(std::string_view id) const {
    return ledger_.store().cron().find(id);
  }

  Ledger& ledger_;
  const AdmissionControl& admission_;
  Tally& tally_;
};

inline constexpr Duration kCronForgottenAfter = std::chrono::days(7);

/// A run that was planned for so much later than now shows that the clock was wrong.
inline constexpr Duration kCronAheadMax = std::chrono::days(1);

}  // namespace millrace
