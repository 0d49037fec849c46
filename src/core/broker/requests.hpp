#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/steps.hpp"
#include "core/model/features/attempt.hpp"
#include "core/model/features/job_batch.hpp"
#include "core/model/job.hpp"
#include "core/model/long_body.hpp"
#include "core/model/queue.hpp"
#include "core/model/types.hpp"

/// The values that clients, workers and operators hand to the broker.
namespace millrace {

/// What is answered where another job holds the lock of a new one.
enum class UniqueConflict : std::uint8_t {
  kRefuse,
  kName,    ///< refused, and the protocol names that job
  kAccept,  ///< the new job counts as pushed: the id of the other one is answered
};

/// A job to be made. The views are copied, but for the body of a long one.
struct NewJob {
  JobKind kind = JobKind::kBytes;
  std::string_view queue;
  std::string_view body;
  Pri pri = 0;
  std::uint32_t ttr_s = 1;    ///< 0 counts as 1
  std::uint32_t delay_s = 0;  ///< as it was asked for: shown, not used
  /// Later than now: scheduled; else ready at once. Of a work unit it is a time of the wall clock.
  Time due{};
  std::optional<Failure> failure = std::nullopt;  ///< its failures on another server
  std::optional<Time> created_at = std::nullopt;  ///< now, unless it is set
  std::optional<JobFeatures> features = {};       ///< most jobs have none
  UniqueConflict conflict = UniqueConflict::kRefuse;
  bool is_lock_without_time = false;  ///< a lock was asked for and no time: there is none
  LongBody* long_body = nullptr;      ///< has `body`, and loses it to the job
};

/// Where the queues of a list were found, for a client that asks with the same list again.
struct KnownQueues {
  std::uint64_t as_of = 0;   ///< `Queues::changes` then; 0: nothing was looked up
  std::vector<QueueId> ids;  ///< in the order of the list; kNoSlot: there was none of that name
};

/// A batch to be made. The views are copied.
struct NewJobBatch {
  JobBatchId id = 0;             ///< as `BatchOperations::draw_id` has given it
  JobBatchId parent = 0;         ///< 0: none
  std::string_view description;  ///< at most `kBatchDescriptionBytesMax`
  std::vector<BatchCallback> callbacks;
};

/// The job that a client asks for.
struct ReserveRequest {
  /// Which of several queues with ready jobs: the one with the smallest (pri, sequence) of all
  /// (beanstalk), or the first of the list (FWP).
  enum class Choice { kSmallest, kFirstListed };

  Choice choice = Choice::kSmallest;
  std::vector<std::string_view> queues;  ///< kFirstListed; kSmallest takes the watched ones
  KnownQueues* known = nullptr;          ///< of this list; filled in. Null: looked up each time
  std::optional<std::string> wid;        ///< set: a worker will hold the job, else the connection
  Time wait_until = kNever;              ///< now or earlier: the client does not wait
};

/// A failed run as the worker reports it; with the end kReleased, one that it gives back.
struct FailedRun {
  std::string errtype;
  std::string message;
  std::vector<std::string> backtrace;
  AttemptEnd end = AttemptEnd::kFailed;
};

/// What a client tells of a job by its name. Values that are not given are kept.
struct TrackUpdate {
  std::string_view jid;                       ///< at most `kJidBytesMax`
  std::optional<std::uint8_t> percent = {};   ///< at most 100
  std::optional<std::string_view> desc = {};  ///< cut at `kTrackDescBytesMax`
  std::optional<Time> reserve_until = {};     ///< by the wall clock
};

/// The answer of a mutation's filter. kUnfinished: its steps were used up before it knew.
enum class Match { kNo, kYes, kUnfinished };
using JobMatcher = std::function<Match(const Job& job, const Queue& queue, Steps& steps)>;

/// A change to some jobs of a server-wide set.
struct Mutation {
  enum class Action {
    kDiscard,  ///< as a client deletes a job
    kKill,     ///< as a client buries a job; a dead job's time of death is renewed
    kRequeue,  ///< as a client kicks a job
    kMove,     ///< to another queue, as it is; a running job is left alone
  };

  JobState set = JobState::kDead;  ///< kScheduled, kRetrying or kDead
  Action action = Action::kDiscard;
  std::string to = {};  ///< the queue of kMove
  /// Which jobs; empty: all. It is kept until the mutation has ended, so it must be able to outlive
  /// the client. After `kUnfinished` it is asked again with new steps, about the same job if that
  /// is still in the set.
  JobMatcher matches = {};
};

/// The facts that HELLO gives of a worker.
struct WorkerHello {
  std::string wid;
  std::string hostname;
  std::int64_t pid = 0;
  std::vector<std::string> labels;
};

}  // namespace millrace
