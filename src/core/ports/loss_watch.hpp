#pragma once

#include <string_view>

#include "core/model/job.hpp"
#include "core/model/queue.hpp"

namespace millrace {

/// Somebody who wants to know of each job that is taken back from a lost worker, or that loses its
/// body.
class LossWatch {
 public:
  virtual ~LossWatch() = default;

  /// The job is still reserved by that worker, and comes into the state `next`: ready or dead.
  /// Called in the middle of a change: it may only note.
  virtual void on_taken_back(const Job& job, const Queue& queue, JobState next, Time now) = 0;

  /// The log does not give the job's body, which is said with its place there. Called as above.
  virtual void on_body_unreadable(const Job& job, const Queue& queue, std::string_view why) = 0;
};

}  // namespace millrace
