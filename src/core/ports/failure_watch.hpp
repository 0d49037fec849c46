#pragma once

#include "core/model/job.hpp"
#include "core/model/types.hpp"

namespace millrace {

/// Somebody who wants to know of each failure.
class FailureWatch {
 public:
  virtual ~FailureWatch() = default;

  /// A run of that job has failed. Called in the middle of a change: it may only note.
  virtual void on_failed(const Failure& failure, JobId job, Time now) = 0;
};

}  // namespace millrace
