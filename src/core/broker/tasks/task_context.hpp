#pragma once

#include "core/broker/admission_control.hpp"
#include "core/broker/clients/waits.hpp"
#include "core/broker/jobs/job_moves.hpp"
#include "core/broker/jobs/pauses.hpp"
#include "core/state/ledger.hpp"

namespace millrace {

/// The parts that long tasks work on.
struct TaskContext {
  Ledger& ledger;
  const AdmissionControl& admission;
  JobMoves& moves;
  Waits& waits;
  Pauses& pauses;
};

}  // namespace millrace
