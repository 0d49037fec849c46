#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/steps.hpp"
#include "core/model/record.hpp"
#include "core/model/types.hpp"
#include "core/model/worker.hpp"
#include "core/ports/session.hpp"
#include "core/ports/work_unit.hpp"
#include "core/state/ledger.hpp"
#include "core/state/view.hpp"

namespace millrace {

/// A job to be. Views are copied.
struct NewJob {
  JobKind kind = JobKind::kBytes;
  std::string_view queue;
  std::string_view body;
  Pri pri = 0;
  std::uint32_t ttr_s = 1;    ///< 0 counts as 1
  std::uint32_t delay_s = 0;  ///< what was asked for, to be shown; `due` decides
  Time due{};                 ///< later than now: scheduled, else ready at once
  std::optional<Failure> failure = std::nullopt;  ///< failures brought along from another server
  std::optional<Time> created_at = std::nullopt;  ///< when it came, if not now: one of many at once
};

/// What a client wants to have reserved.
struct ReserveRequest {
  /// Which of several queues with ready jobs: the smallest (pri, sequence) over all of them
  /// (beanstalk), or the first of the list that has one (FWP).
  enum class Choice { kSmallest, kFirstListed };

  Choice choice = Choice::kSmallest;
  std::vector<std::string_view> queues;  ///< kFirstListed; kSmallest takes the watched ones
  std::optional<std::string> wid;        ///< set: a worker holds the job, else the connection does
  Time wait_until = kNever;              ///< now or earlier: do not wait
};

/// A failed run as the worker reports it.
struct FailedRun {
  std::string errtype;
  std::string message;
  std::vector<std::string> backtrace;
};

/// What a mutation's filter says of a job. kUnfinished: its steps were spent before it knew.
enum class Match { kNo, kYes, kUnfinished };

/// What is to happen to some jobs of a server-wide set.
struct Mutation {
  enum class Action {
    kDiscard,  ///< as a client deletes a job
    kKill,     ///< as one buries it; of dead jobs, the time of death is renewed
    kRequeue,  ///< as one kicks it
  };

  JobState set = JobState::kDead;  ///< kScheduled, kRetrying or kDead
  Action action = Action::kDiscard;
  /// Which jobs; empty: all. It is kept until the mutation is through, and must be able to outlive
  /// the client. What it has not finished it is asked again with new steps, the same job first
  /// unless that has left the set.
  std::function<Match(const Job& job, const Queue& queue, Steps& steps)> matches = {};
};

/// What HELLO says of a worker.
struct WorkerHello {
  std::string wid;
  std::string hostname;
  std::int64_t pid = 0;
  std::vector<std::string> labels;
};

/// The one place where decisions about jobs are made. Both doors, and later the web API, call it;
/// it knows none of them.
///
/// Each operation decides from the present state (and may refuse), emits records, and applies each
/// at once. The ledger gathers the records of all operations into one batch for the journal: a
/// client is told about an operation only when that batch is durable.
///
/// It is given `now`, and random numbers as a seed: equal calls give equal results. No operation
/// does more than `kSliceJobs` moves; what is longer goes on in `tick`.
class Broker {
 public:
  struct Options {
    std::uint64_t random_seed = 0;
    /// Pushed jobs that may be dead at a time; the one that has been dead for longest goes first.
    std::size_t dead_jobs_max = std::numeric_limits<std::size_t>::max();
  };

  /// `ledger` and `format` outlive the broker. Nothing else commits to the ledger; its owner
  /// replays the log into it before the first client connects, and takes its batches.
  Broker(Ledger& ledger, const WorkUnitFormat& format, Options options);
  ~Broker();
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  // ---- clients ----------------------------------------------------------------------------------

  /// `session` is told by `deliver` what it waits for, until `disconnect`.
  ClientId connect(Session& session);

  /// What the client's connection held becomes ready, what it waited for is forgotten. What its
  /// worker holds stays reserved.
  void disconnect(ClientId client, Time now);

  /// The sessions that `deliver` was called on since the last call and that are still connected:
  /// their driver should `resume` them and send their output.
  [[nodiscard]] std::vector<Session*> take_woken();

  // ---- queues -----------------------------------------------------------------------------------

  /// The client puts here from now on; the queue exists as long as it does.
  Answer<Done> use(ClientId client, std::string_view queue);

  /// Both answer how many queues the client now watches. Refused: one more than
  /// `kWatchedQueuesMax`, and ignoring the last one.
  Answer<std::size_t> watch(ClientId client, std::string_view queue);
  Answer<std::size_t> ignore(ClientId client, std::string_view queue);

  /// Hands out nothing for `seconds`; 0 resumes. nullopt: until resumed. Refused: no such queue.
  Answer<Done> pause(std::string_view queue, std::optional<std::uint32_t> seconds, Time now);

  // ---- jobs -------------------------------------------------------------------------------------

  /// From now on; what it does not take is refused with `kNoRoom`.
  void take_on(Intake intake);
  [[nodiscard]] Intake intake() const;
  [[nodiscard]] bool refuses_jobs() const { return intake() != Intake::kEverything; }

  /// Refused: a queue name that is too long, or any job while `refuses_jobs`. Who waits for the job
  /// has it when this returns. A pushed work unit makes its queue a kept one.
  Answer<JobId> put(const NewJob& job, Time now);

  /// The job, or the reason why there is none, at once; nullopt when the client now waits and will
  /// be told by `deliver`. A client waits for one thing at a time.
  std::optional<Delivery> reserve(ClientId client, const ReserveRequest& request, Time now);

  /// The client gives up waiting (its side of the connection is closed): nothing will be delivered.
  void stop_waiting(ClientId client);

  /// Reserves that very job for the connection: ready, scheduled, retrying or dead.
  Answer<const Job*> reserve_job(ClientId client, JobId id, Time now);

  /// Deletes a job that the connection holds (for a pushed one this counts as ACK), or that nobody
  /// holds.
  Answer<Done> remove(ClientId client, JobId id, Time now);

  /// The three that need the connection to hold the job.
  Answer<Done> release(ClientId client, JobId id, Pri pri, std::uint32_t delay_s, Time now);
  Answer<Done> bury(ClientId client, JobId id, Pri pri, Time now);
  Answer<Done> touch(ClientId client, JobId id, Time now);

  /// Makes up to `bound` dead jobs of the client's used queue ready, oldest first; when it has
  /// none, delayed ones, soonest first. Answers how many, or nullopt when the client will be told.
  std::optional<std::uint64_t> kick(ClientId client, std::uint64_t bound, Time now);

  /// Makes a dead, scheduled or retrying job ready.
  Answer<Done> kick_job(JobId id, Time now);

  /// Changes the matching jobs that are in the set now. Answers how many, or nullopt when the
  /// client will be told. It goes on when the client leaves.
  std::optional<std::uint64_t> mutate(ClientId client, Mutation mutation, Time now);

  /// `pause` for each of these queues. Answers how many there were, or nullopt when the client will
  /// be told. Unknown names are passed over.
  std::optional<std::uint64_t> pause_queues(ClientId client, std::vector<std::string> names,
                                            std::optional<std::uint32_t> seconds, Time now);

  /// Deletes what is ready in these queues now, ends their pauses, and forgets that they were kept.
  /// Answers as `mutate`. Unknown names are passed over.
  std::optional<std::uint64_t> remove_queues(ClientId client, std::vector<std::string> names,
                                             Time now);

  /// Removes every job, forgets kept and paused queues, and sets the totals to zero. True when
  /// done, false when the client will be told.
  bool flush(ClientId client, Time now);

  // ---- workers ----------------------------------------------------------------------------------

  /// The client speaks for this worker; its first connection creates it.
  Answer<Done> register_worker(ClientId client, WorkerHello hello, Time now);

  /// The worker lives. `asked` moves its state rightwards, never back. Refused: unknown wid.
  Answer<Worker::State> beat(std::string_view wid, Worker::State asked, std::int64_t rss_kb,
                             Time now);

  /// Finishes the reserved job of that name. Where several jobs carry the name, of the 64 oldest
  /// the one that the client's worker holds goes first. Refused: nobody holds such a job.
  Answer<Done> ack(ClientId client, std::string_view jid, Time now);

  /// Undoes a fetch of which the worker never learned: the job stands where it stood before, and no
  /// failure is counted. Refused: that reservation is over.
  Answer<Done> give_back(JobId id, Time reserved_at, Time now);

  /// Counts a failure: the job is retried after a back-off, dies, or is dropped, as it asked for.
  Answer<Done> fail(ClientId client, std::string_view jid, FailedRun run, Time now);

  // ---- an operator's hand (operator_moves.cpp) --------------------------------------------------

  /// Does that to one job, as `mutate` to many. Refused: no such job, or somebody holds it; or it
  /// is to become what it is: requeue a ready job, kill a dead one.
  Answer<Done> change(JobId id, Mutation::Action action, Time now);

  /// The same to a job that somebody holds, whose reservation ends with it; requeued, it counts as
  /// released, and no failure is counted. Refused: nobody holds such a job.
  Answer<Done> take_back(JobId id, Mutation::Action action, Time now);

  /// Ends the queue's pause and forgets that it was kept: it goes with its last job and client.
  Answer<Done> forget_queue(std::string_view queue, Time now);

  /// What the worker will be told at its next beat; as in `beat`, its state moves rightwards only.
  Answer<Worker::State> tell_worker(std::string_view wid, Worker::State asked, Time now);

  // ---- time -------------------------------------------------------------------------------------

  /// Does what has come due, at most a slice of it. Answers when to call again: `now` or earlier
  /// when more is waiting already, kNever when nothing is planned.
  Time tick(Time now);

  /// How many queues were looked at for clients so far, each of which may cost a cache miss or
  /// more: what a session counts its work by.
  [[nodiscard]] std::uint64_t step_count() const;

  // ---- reading ----------------------------------------------------------------------------------

  [[nodiscard]] const View& view() const;
  [[nodiscard]] const Ledger& ledger() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A connection that reserves is told DEADLINE_SOON when a job that it holds has no more than this
/// left (beanstalk protocol).
inline constexpr Duration kSafetyMargin = 1s;

/// A pushed job is dropped when it has been dead for so long (reference server: 180 days). Buried
/// ones stay.
inline constexpr Duration kDeadLimit = 180 * 24h;

}  // namespace millrace
