#pragma once

#include "base/result.hpp"

namespace millrace {

/// Why an operation that a client asked for was not done. Each protocol has its own words for
/// these.
enum class Refusal {
  kNotFound,     ///< no such job or queue, or not in a state in which this client may do that
  kLastQueue,    ///< a connection watches at least one queue
  kTooMany,      ///< a connection watches, or operators have set, as many as there may be
  kNameTooLong,  ///< a queue name, jid or wid beyond its limit
  kExpired,      ///< the time in which the job may be run is over
  kNoSuchBatch,  ///< the batch that is named is not there
  kNotUnique,    ///< another job holds the lock that this one needs
  kUnreadable,   ///< the log does not give the job's body
  kNoRoom,       ///< the disk or the memory is full, and this would need more of it
};

/// Which operations the broker admits while the disk or the memory is short. Each level admits less
/// than the one before it.
enum class Admission {
  kEverything,
  kNoJobs,       ///< no new jobs
  kNoGrowth,     ///< nor burying, delaying and pausing; the texts of failures are left out
  kEndingsOnly,  ///< nor reservations: only operations that end a job or make it ready again
};

/// What broker operations answer.
template <typename T>
using Answer = Result<T, Refusal>;

}  // namespace millrace
