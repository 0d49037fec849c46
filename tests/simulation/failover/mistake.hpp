#pragma once

namespace millrace::simulation {

/// What all servers of a world do wrong, so that the world must find it.
enum class Mistake {
  kNone,
  kNoLease,        ///< a leader answers though its lease is over
  kEarlyClaim,     ///< a standby claims without waiting for the end of the lease
  kNoFence,        ///< the log service stores whatever comes, at the end of the log
  kEarlyCache,     ///< a batch is written to the cache before the service has stored it
  kClockRunsBack,  ///< a new leader's clock is behind the times that the log tells
  kClockJumps,     ///< a new leader takes the end of a delay for a time that has passed
  kUnreadClaim,    ///< a standby leads without having applied what it read last
  kGuessedAppend,  ///< an append without an answer is taken for stored
};

}  // namespace millrace::simulation
