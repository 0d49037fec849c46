#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/types.hpp"

namespace millrace::simulation {

/// The tubes and queues of all clients.
inline const std::vector<std::string> kQueues = {"default", "mail", "slow"};

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
};

/// A job to be put or pushed.
struct JobText {
  std::string name;  ///< of a pushed one: its jid; of a put one: its whole body
  std::string queue;
  std::uint32_t reserve_for_s = 0;
  std::int64_t retry = 25;
  int priority = 5;
  Time at{};                      ///< the epoch: now
  std::size_t padding_bytes = 0;  ///< how long its argument is
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
  std::string action;               ///< mutate: discard, kill or requeue
  std::string set;                  ///< mutate: scheduled, retries or dead
  std::vector<std::string> jids;    ///< mutate; empty: all
  std::size_t error_bytes = 0;      ///< fail: how much it says
};

/// The command as the client sends it.
[[nodiscard]] std::string render(const Command& command);

}  // namespace millrace::simulation
