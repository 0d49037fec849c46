#pragma once

#include "core/broker/broker.hpp"
#include "core/state/ledger.hpp"

namespace millrace::simulation {

/// So few that the ring is soon full.
inline constexpr FinishedJobs::Limits kFinished{
    .jobs_max = 20, .age_max = FinishedJobs::kAgeMax, .is_durable = true};

/// A state without clients: what replaying a log gives. Finished jobs are in it where the log has
/// them.
struct Shadow {
  explicit Shadow(const WorkUnitFormat& format) : broker(ledger, format, {.finished = kFinished}) {}
  Ledger ledger;
  Broker broker;
};

}  // namespace millrace::simulation
