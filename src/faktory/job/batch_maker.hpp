#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "core/broker/broker.hpp"
#include "faktory/job/job_reader.hpp"
#include "faktory/job/pushed_job.hpp"

namespace millrace::faktory {

/// Whether the caller could push all callbacks of the batch: then it may open, commit and see it,
/// and make it the parent of another one.
[[nodiscard]] bool may_use(const access::Caller& caller, const JobBatch& batch);

/// Makes batches of jobs as BATCH NEW asks for them. A callback is checked by the rules of PUSH and
/// stored as the work unit that it will be: with `_bid`, `_pbid` and `_cb` in its `custom`, and
/// with what the client left out. It takes no lock and never expires: its batch would wait for
/// ever.
class BatchMaker {
 public:
  /// `broker` outlives this.
  explicit BatchMaker(Broker& broker) : broker_(broker) {}

  /// Reads `{"success":{job},"complete":{job},"death":{job},"description":"..","parent_bid":".."}`.
  /// The caller may push to the queues of the callbacks. `null` means absent, and of several
  /// members of one name the last one counts.
  [[nodiscard]] Result<JobBatchId, RefusedJob> add(std::string_view json, Time now,
                                                   const access::Caller& caller);

 private:
  /// The texts of the members; empty: absent.
  struct Asked {
    std::string success;
    std::string complete;
    std::string death;
    std::string description;
    std::string parent_bid;
  };
  /// What the views of the callback point into.
  struct Callback {
    std::string queue;
    std::string body;
    BatchCallback callback;
  };
  /// The batch that a callback is made for.
  struct Of {
    JobBatchId batch;
    JobBatchId parent;
    BatchRole role;
  };

  [[nodiscard]] Result<Asked, RefusedJob> read(std::string_view json);
  [[nodiscard]] Result<Callback, RefusedJob> make(std::string_view json, const Of& of, Time now);
  [[nodiscard]] std::string random_jid();

  Broker& broker_;
  JobReader reader_;
};

}  // namespace millrace::faktory
