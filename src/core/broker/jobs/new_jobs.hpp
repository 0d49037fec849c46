#pragma once

#include "core/broker/jobs/job_events.hpp"
#include "core/broker/jobs/job_moves.hpp"
#include "core/broker/requests.hpp"
#include "core/broker/view.hpp"
#include "core/state/ledger.hpp"

namespace millrace {

/// Makes jobs: those that clients put, and those that the server pushes by itself.
class NewJobs {
 public:
  /// The parts that it works on. They outlive it.
  struct Parts {
    Ledger& ledger;
    JobEvents& events;
    JobMoves& moves;
    Waits& waits;
    Tally& tally;
  };
  explicit NewJobs(Parts parts) : parts_(parts) {}

  /// The job was admitted. A client that waits for it has it when this returns. `name_hash`: see
  /// `JobAdded`.
  JobId add(const NewJob& job, Time now, std::uint32_t name_hash = 0);

 private:
  Parts parts_;
};

}  // namespace millrace
