#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/functional/function_ref.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "core/broker/admission_control.hpp"
#include "core/broker/jobs/job_events.hpp"
#include "core/broker/view.hpp"
#include "core/ports/loss_watch.hpp"
#include "core/state/ledger.hpp"

namespace millrace {

/// Jobs whose bodies the log does not give.
///
/// What was read and is not what was written is **damage** (`Bodies::note_damage`): the job gets a
/// mark, and its failure says why, with the place in the log. If it runs it goes on, since its
/// worker has the body; otherwise it is dead.
///
/// What the system failed to read is **awaited**: it is read again after `kReadAgainAfter`, and
/// compaction waits for that. A job that was to run meanwhile is set aside: dead, with the mark,
/// and ready again in its old place once its body can be read. If it still cannot be, though other
/// bodies could, that is damage. If none could, the disk is away, and the next try comes later, up
/// to `kReadAgainMax` times: compaction cannot wait for ever.
///
/// On a full disk compaction cannot wait, so such a job gets the mark at once.
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

  /// Sees to the bodies that were missed since the last call.
  void work(Time now);
  /// Reads again what is due, at most a slice. `on_ready` is given each job that is ready again.
  void read_again(Time now, absl::FunctionRef<void(const Job& job)> on_ready);
  /// When one of the two has something to do.
  [[nodiscard]] Time next_due() const;

  /// See `Broker::watch_losses`.
  void watch(LossWatch* watch) { watch_ = watch; }

 private:
  struct Due {
    Time at;
    JobId job;
  };
  struct Awaited {
    std::string why;
    std::uint64_t read_count = 0;  ///< of all bodies, at the last try
    int tries = 0;                 ///< in which no body could be read
    bool is_read_again = false;    ///< just now
    bool is_set_aside = false;     ///< it was to run
    Box<Failure> failure;          ///< that it had then
  };

  void see_to(const Bodies::Missing& missing, Time now);
  [[nodiscard]] bool await(const Job& job, const std::string& why, Time now);
  void set_aside(const Job& job, Time now);
  void mark(const Job& job, std::string_view why, Time now);
  void report(const Job& job, std::string_view why);
  void bury(const Job& job, JobFields fields, Time now);
  std::optional<Awaited> stop_awaiting(JobId id);
  void note_damage(const Job& job, Time now);
  void restore(const Job& job, Box<Failure> failure, Time now);
  [[nodiscard]] Bodies& bodies() { return ledger_.store().jobs().bodies(); }

  Ledger& ledger_;
  JobEvents& events_;
  const AdmissionControl& admission_;
  Tally& tally_;
  LossWatch* watch_ = nullptr;
  std::deque<Due> due_;  ///< all awaited ones, by time
  absl::flat_hash_map<JobId, Awaited> awaited_;
};

/// When a body that the system failed to read is read once more.
inline constexpr Duration kReadAgainAfter = 60s;
inline constexpr int kReadAgainMax = 10;

/// The error of such a job. It is followed by what the job had failed of before, if anything.
inline constexpr std::string_view kUnreadableErrtype = "BodyUnreadable";
inline constexpr std::string_view kBeforeThat = "; before that, ";

/// How many jobs in a row a look for one to run finds without their bodies before it is put off,
/// and how many bodies a turn reads again.
inline constexpr std::size_t kUnreadableInARow = 16;

}  // namespace millrace
