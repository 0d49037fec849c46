#pragma once

#include <deque>
#include <string_view>

#include "core/broker/admission_control.hpp"
#include "core/broker/jobs/job_events.hpp"
#include "core/broker/view.hpp"
#include "core/ports/loss_watch.hpp"
#include "core/state/ledger.hpp"

namespace millrace {

/// Jobs whose bodies the log does not give. Each gets a mark, and its failure says why, with the
/// place in the log. A job that runs goes on, since its worker has the body; any other is dead.
///
/// Where the system failed to read, it may read later: a person can retry the job then. After
/// `kReadAgainAfter`, and at once where what was read is not what was written, the place counts as
/// damaged (`Bodies::note_damage`).
class UnreadableBodies {
 public:
  /// All of them outlive this.
  UnreadableBodies(Ledger& ledger, JobEvents& events, const AdmissionControl& admission,
                   Tally& tally)
      : ledger_(ledger), events_(events), admission_(admission), tally_(tally) {}

  /// Whether the job, which nobody holds, has its body now. If not, it is dead when this returns.
  [[nodiscard]] bool can_run(const Job& job, Time now);
  /// The reserved job, whose body is missing, is dead when this returns.
  void end_run(const Job& job, Time now);

  /// Does what is due, and sees to the bodies that were missed since the last call.
  void work(Time now);
  [[nodiscard]] Time next_due() const;

  /// See `Broker::watch_losses`.
  void watch(LossWatch* watch) { watch_ = watch; }

 private:
  struct Again {
    Time at;
    JobId job;
  };

  void see_to(const Bodies::Missing& missing, Time now);
  void mark(const Job& job, std::string_view why, Time now);
  void bury(const Job& job, JobFields fields, Time now);
  void note_damage(const Job& job, Time now);
  void read_again(JobId id, Time now);
  [[nodiscard]] Bodies& bodies() { return ledger_.store().jobs().bodies(); }

  Ledger& ledger_;
  JobEvents& events_;
  const AdmissionControl& admission_;
  Tally& tally_;
  LossWatch* watch_ = nullptr;
  std::deque<Again> again_;
};

/// When a body that the system failed to read is read once more.
inline constexpr Duration kReadAgainAfter = 60s;

/// How many jobs in a row a look for one to run finds without their bodies before it is put off.
inline constexpr std::size_t kUnreadableInARow = 16;

}  // namespace millrace
