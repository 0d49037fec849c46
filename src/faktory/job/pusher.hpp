#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "access/users.hpp"
#include "base/result.hpp"
#include "core/broker/broker.hpp"
#include "faktory/job/job_reader.hpp"
#include "faktory/job/pushed_job.hpp"

namespace millrace::faktory {

/// Puts work units into their queues. PUSH, PUSHB and the web API all push through here, so that a
/// job is checked, stored and refused in the same way wherever it comes from. Both must outlive
/// the pusher.
class Pusher {
 public:
  Pusher(Broker& broker, const WorkUnitFormat& format) : broker_(broker), format_(format) {}
  Pusher(const Pusher&) = delete;
  Pusher& operator=(const Pusher&) = delete;

  /// Reads one job, checks it by the rules of PUSH, and puts it into its queue, if `caller` may
  /// push there. `planned`: the wall time from which the job's `expires_in` counts, where that is
  /// not now. `worker`: the `wid` of the worker that pushes, or empty.
  [[nodiscard]] Result<JobId, RefusedJob> push(std::string_view json, Time now,
                                               const access::Caller& caller,
                                               std::optional<Time> planned = std::nullopt,
                                               std::string_view worker = {});

  // The same in steps: `MadeJob` in between.

  [[nodiscard]] PushTerms terms(Time now) const {
    return {.now = now, .clock = broker_.view().wall_clock(), .secret = broker_.lock_secret()};
  }

  /// For the broker's thread.
  [[nodiscard]] JobReader& reader() { return reader_; }

  /// Puts a job that was made.
  [[nodiscard]] Result<JobId, RefusedJob> put(const NewJob& job, Time now,
                                              const access::Caller& caller,
                                              std::string_view worker = {});

  /// Frees the buffers if a long job has made them long.
  void shrink();

 private:
  Broker& broker_;
  const WorkUnitFormat& format_;
  SecretOfLocks secret_ = [this] { return broker_.lock_secret(); };
  JobReader reader_;
  std::string body_;  ///< of the job that is being pushed; empty between pushes
};

}  // namespace millrace::faktory
