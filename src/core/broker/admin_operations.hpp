#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/broker/jobs/retry_policy.hpp"
#include "core/broker/requests.hpp"
#include "core/model/features/error_mark.hpp"
#include "core/model/features/throttle_limits.hpp"
#include "core/model/features/token.hpp"
#include "core/model/refusal.hpp"
#include "core/model/types.hpp"
#include "core/model/worker.hpp"

namespace millrace {

struct BrokerParts;

/// The operations of administrators: on jobs of any client, on whole queues, and on many jobs
/// at once. The protocols and the web API offer them.
///
/// The operations that answer how many there were can be too long for one turn. Then they answer
/// nullopt, go on in `Broker::tick`, even when the client leaves, and kFinished is delivered to the
/// client at the end. Until then the client asks for nothing else.
class AdminOperations {
 public:
  /// `parts` outlives this.
  explicit AdminOperations(BrokerParts& parts) : parts_(parts) {}

  // ---- jobs -------------------------------------------------------------------------------------

  /// Changes a job that nobody holds. Refused: there is no such job, or it is held; a ready job is
  /// requeued, a dead one killed, or one moved to the queue `to` that is there; a dead job is
  /// requeued whose lock another job holds; a job is killed while records must not grow, or moved
  /// while new jobs are refused.
  Answer<Done> change(JobId id, Mutation::Action action, Time now, std::string_view to = {});

  /// The same as to requeue it, at `due`, which is later than now. Until then it is scheduled.
  Answer<Done> requeue_later(JobId id, Time due, Time now);

  /// Changes a job that a client or a worker holds, and so ends its reservation. Requeued, it
  /// counts as released; no failure is counted. The holder is not told: its later commands for the
  /// job are answered as for any that it does not hold. Refused: there is no such job, or it is not
  /// held, or would be moved; a job is killed while records must not grow.
  Answer<Done> change_held(JobId id, Mutation::Action action, Time now);

  /// Frees the lock of a job, which goes on without it. Dead and then requeued, it takes it anew
  /// like any other job. Refused: there is no such job, or it does not hold its lock; while records
  /// must not grow.
  Answer<Done> free_lock(JobId id, Time now);

  /// Changes the matching jobs that are in the set now. Answers how many.
  std::optional<std::uint64_t> mutate(ClientId client, Mutation mutation, Time now);

  /// Removes every job, forgets which queues are kept and paused, and sets the totals to zero.
  /// Jobs that come later stay. True when it is done, false when kFinished will be delivered.
  bool flush(ClientId client, Time now);

  // ---- queues -----------------------------------------------------------------------------------

  /// The queue hands out nothing for `seconds`; 0 resumes it; nullopt pauses it until it is
  /// resumed. Recorded, unless it is so already. Refused: there is no such queue; a pause while
  /// records must not grow.
  Answer<Done> pause(std::string_view queue, std::optional<std::uint32_t> seconds, Time now);

  /// The same for each of these queues. Answers how many were paused or resumed. Unknown names are
  /// passed over.
  std::optional<std::uint64_t> pause_queues(ClientId client, std::vector<std::string> names,
                                            std::optional<std::uint32_t> seconds, Time now);

  /// Ends the queue's pause and forgets that it was kept: it is removed with its last job and
  /// client. Refused: there is no such queue.
  Answer<Done> forget_queue(std::string_view queue, Time now);

  /// Deletes the jobs that are ready in these queues now, and forgets the queues as `forget_queue`
  /// does. Answers how many jobs. Unknown names are passed over.
  std::optional<std::uint64_t> remove_queues(ClientId client, std::vector<std::string> names,
                                             Time now);

  /// The rules of the configuration, from now on. To be called before the first client connects,
  /// and whenever they have changed. Running jobs go on, even where there are too many of them.
  void set_throttle_rules(ThrottleRules rules, Time now);
  /// When failed jobs run again, from their next failure on. What was planned stays as it is: the
  /// time is in the record of the failure.
  void set_retry_delays(FindRetryDelays find);
  [[nodiscard]] std::optional<RetryDelays> retry_delays_of(const Job& job) const;

  /// What becomes of the jobs of workers that are gone; until then they stay with them. To be
  /// called once, before any client connects: workers that hold jobs have the time from then on to
  /// come back.
  void set_worker_rules(WorkerRules rules, Time now);

  /// Limits of a queue, or of `type:` and a jobtype, that win over those of the configuration until
  /// they are removed; without any limit it is not limited. They are valid (`is_valid`,
  /// `can_have`). Recorded. Refused: a name that is too long; one more than `kThrottlesByHandMax`;
  /// while records must not grow.
  Answer<Done> set_throttle(std::string_view name, const ThrottleLimits& limits, Time now);
  /// The configuration counts again. Refused: no operator set limits for it.
  Answer<Done> remove_throttle(std::string_view name, Time now);

  // ---- errors -----------------------------------------------------------------------------------

  /// All that is said of the errors of the group from now on; a mark that is over says nothing. The
  /// note is at most `kErrorNoteBytesMax` long. Recorded. Refused: one more than `kErrorMarksMax`;
  /// while records must not grow, a new one or a longer note.
  Answer<Done> mark_error(std::uint64_t group, ErrorMark mark, Time now);

  // ---- views ------------------------------------------------------------------------------------

  /// From now on the view of that name has that query; an empty query removes it. Both are at most
  /// as long as `ViewSaved` says. Recorded. Refused: one more than `SavedViews::kCountMax`; to
  /// remove one that is not there; to save one while records must not grow.
  Answer<Done> save_view(std::string name, std::string query);

  // ---- tokens -----------------------------------------------------------------------------------

  /// The token is valid from now on; its texts are within their limits. Where it needs the name or
  /// the place of one that has expired, that one is forgotten. Recorded. Refused: one more than
  /// `kTokensMax`, or than `kTokensOfUserMax` of its user; the user has one of that name
  /// (kNotUnique); while records must not grow.
  Answer<Done> add_token(Token token, Time now);
  /// Refused: there is none with that hash.
  Answer<Done> remove_token(std::string_view hash);

  // ---- workers ----------------------------------------------------------------------------------

  /// Sets the state that the worker is told at its next beat; as in `WorkerOperations::beat` it
  /// moves rightwards only. Answers the state. Refused: an unknown wid.
  Answer<Worker::State> order_worker(std::string_view wid, Worker::State asked, Time now);

 private:
  /// Those that are over.
  void forget_marks(Time now);

  BrokerParts& parts_;
};

}  // namespace millrace
