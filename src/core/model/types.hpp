#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

/// The words that every folder shares: ids, time, and the limits on what the core stores.
namespace millrace {

using namespace std::chrono_literals;

/// A job's number, from 1. Both protocols show it. No number is used twice, even after a restart.
using JobId = std::uint64_t;

/// A queue's place in this process's table. It is not stored: records and protocols name queues.
using QueueId = std::uint32_t;

/// The broker's number of a connection, from 1. No number is used twice in one process.
using ClientId = std::uint64_t;

/// Urgency: the smaller number is served first, as in the beanstalk protocol.
using Pri = std::uint32_t;

/// The second half of the order (pri, sequence) in which ready jobs are served. Drawn from the same
/// counter as `JobId`, so that jobs of both protocols are in one order.
using Sequence = std::uint64_t;

/// A byte position in the log. "Durable up to n" covers every byte before n.
using Lsn = std::uint64_t;

/// The position after everything that was recorded so far, wherever that will be in the log.
inline constexpr Lsn kWholeLog = UINT64_MAX;

/// A job's place in this process's table.
using JobSlot = std::uint32_t;

/// No slot. It is for places where an optional would cost memory for each job. All others use
/// std::nullopt.
inline constexpr std::uint32_t kNoSlot = UINT32_MAX;

/// Calendar time in nanoseconds since 1970. It has no `now()`: only the server reads a clock, and
/// passes the time on. This steady time does not follow a wall clock that is set. Where a
/// `Time` is one of the wall clock, its comment says so (`core/model/wall_clock.hpp`).
struct Calendar {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Calendar>;
  static constexpr bool is_steady = false;
};
using Time = Calendar::time_point;
using Duration = Calendar::duration;

inline constexpr Time kNever = Time::max();
/// When work is due that waits already. Both are for comparing: the difference to another time does
/// not fit into a Duration.
inline constexpr Time kAtOnce = Time::min();

/// Limits on what may be stored. They are the same for both protocols.
inline constexpr std::size_t kQueueNameBytesMax = 1024;
inline constexpr std::size_t kWatchedQueuesMax = 10'000;  ///< by one connection
inline constexpr std::size_t kJidBytesMax = 1024;
inline constexpr std::size_t kWidBytesMax = 1024;
inline constexpr std::size_t kBodyBytesMax = std::size_t{1} << 30;
inline constexpr std::size_t kBacktraceLinesMax = 50;  ///< of a failure

/// Ready jobs with a smaller priority count as urgent (beanstalk protocol, `stats`).
inline constexpr Pri kUrgentPri = 1024;

/// How many jobs one slice of a long operation may move. Then other clients get their turn.
inline constexpr std::size_t kSliceJobs = 500;

/// The same for moves from one set or queue to another. Each takes about 5 µs, several times as
/// much.
inline constexpr std::size_t kSliceChanges = kSliceJobs / 2;

/// How many steps one slice may take: about a millisecond.
inline constexpr std::size_t kSliceSteps = std::size_t{1} << 19;

/// After this many steps (`Broker::step_count`), a session leaves its input to the next turn.
inline constexpr std::size_t kTurnSteps = 10'000;

/// How many queues one slice of a list may have.
inline constexpr std::size_t kSliceQueues = 5'000;

/// A slice that reads the bodies of its jobs ends early after this many bytes.
inline constexpr std::size_t kSliceBodyBytes = 256 * 1024;

}  // namespace millrace
