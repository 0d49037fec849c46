#pragma once

#include "core/model/job.hpp"
#include "core/model/queue.hpp"

namespace millrace {

/// Somebody who wants to know of each run that ends.
class RunWatch {
 public:
  virtual ~RunWatch() = default;

  /// A run of the job has ended, well or badly, and took this long. The body of the job may be in
  /// the log only. Called for each job that clients finish: it may only note.
  virtual void on_run_ended(const Job& job, const Queue& queue, Duration took) = 0;
};

}  // namespace millrace
