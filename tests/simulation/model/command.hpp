#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/types.hpp"

namespace millrace::simulation {

/// The tubes and queues of all clients.
inline const std::vector<std::string> kQueues = {"default", "mail", "slow"};

/// The one with limits, in worlds with features.
inline const std::string kThrottledQueue = "slow";
/// Jobs of this type have limits too, and are in that queue only: of several queues that wait for
/// a type, nobody says which is served first.
inline const std::string kLimitedJobtype = "Limited";
/// The name of their limits.
inline const std::string kLimitedType = "type:" + kLimitedJobtype;

enum class Verb {
  // beanstalk
  kPut,
  kReserve,
  kReserveJob,
  kDelete,
  kRelease,
  kBury,
  kTouch,
  kKick,
  kKickJob,
  kPeek,
  kUse,
  kWatch,
  kIgnore,
  kPauseTube,
  kStats,
  kStatsTube,
  // FWP
  kPush,
  kPushBulk,
  kFetch,
  kAck,
  kFail,
  kBeat,
  kPauseQueue,
  kResumeQueue,
  kRemoveQueue,
  kMutate,
  kInfo,
  kFlush,
  kTrackSet,
  kTrackGet,
  kBatchNew,
  kBatchOpen,
  kBatchCommit,
  kBatchStatus,
};

/// In the place of a batch's number: what was named is no batch, and cannot be one.
inline constexpr int kNoBatch = -1;
inline const std::string kNoBid = "b-nosuchbatch";

/// What a client asks for with a job besides its run.
struct JobWishes {
  /// Its arguments, and those of jobs that must not be there at the same time; 0: any may be.
  int unique = 0;
  Duration unique_for{};
  bool until_start = false;
  std::string conflict;   ///< unique_conflict; empty: not given
  Duration expires_in{};  ///< zero: not given
  Time expires_at{};      ///< by the wall clock; the epoch: not given
  bool is_tracked = false;
  std::string key;   ///< throttle_key; empty: not given
  int batch = 0;     ///< the model's number of the batch that it is pushed into; 0: none
  std::string role;  ///< of a batch's callback: which one
};

/// A job to be put or pushed.
struct JobText {
  std::string name;  ///< of a pushed one: its jid; of a put one: its whole body
  std::string queue;
  std::string type = "Simulated";
  std::uint32_t reserve_for_s = 0;
  std::int64_t retry = 25;
  int priority = 5;
  Time at{};                      ///< the epoch: now
  std::size_t padding_bytes = 0;  ///< how long its argument is
  JobWishes wishes;
  std::string bid;  ///< of its batch
};

/// What a client says, of either protocol. Each verb uses the members that it needs.
struct Command {
  Verb verb = Verb::kStats;
  JobId id = 0;
  Pri pri = 0;
  std::uint32_t seconds = 0;  ///< the delay, the time-out, the pause
  std::uint32_t ttr_s = 0;
  std::uint32_t bound = 0;
  std::string name;  ///< a body, a jid, a wid
  std::string queue;
  std::vector<std::string> queues;  ///< fetch
  std::vector<JobText> jobs;        ///< push
  std::string action;               ///< mutate: discard, kill, requeue or move
  std::string to;                   ///< mutate: the queue of a move
  std::string set;                  ///< mutate: scheduled, retries or dead
  std::vector<std::string> jids;    ///< mutate; empty: all
  std::size_t error_bytes = 0;      ///< fail: how much it says
  /// Fail: the job is given back.
  [[nodiscard]] bool gives_back() const { return error_bytes % 8 == 7; }
  std::optional<int> percent;       ///< track
  std::optional<std::string> desc;  ///< track
  Time reserve_until{};             ///< track; the epoch: not given
  int batch = 0;                    ///< the model's number; of a new one: of its parent
};

/// The message of a FAIL.
[[nodiscard]] std::string message_of(const Command& command);

/// The command as the client sends it.
[[nodiscard]] std::string render(const Command& command);

}  // namespace millrace::simulation
