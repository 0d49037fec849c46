#pragma once

#include "core/broker/admission_control.hpp"
#include "core/broker/broker.hpp"
#include "core/broker/clients/connected_clients.hpp"
#include "core/broker/clients/waits.hpp"
#include "core/broker/clients/worker_registry.hpp"
#include "core/broker/jobs/dead_set.hpp"
#include "core/broker/jobs/expiry.hpp"
#include "core/broker/jobs/job_moves.hpp"
#include "core/broker/jobs/pauses.hpp"
#include "core/broker/jobs/reservations.hpp"
#include "core/broker/jobs/retries.hpp"
#include "core/broker/jobs/schedule.hpp"
#include "core/broker/tasks/long_tasks.hpp"
#include "core/state/ledger.hpp"
#include "core/state/view.hpp"

namespace millrace {

/// The parts that the broker's operations are made of. Each knows only parts above it.
struct BrokerParts {
  BrokerParts(Ledger& given, const WorkUnitFormat& format, const Broker::Options& options);

  Ledger& ledger;
  Tally tally;
  AdmissionControl admission;
  ConnectedClients clients;
  Reservations reservations;
  Waits waits;
  JobMoves moves;
  Retries retries;
  Schedule schedule;
  Expiry expiry;
  DeadSet dead_set;
  Pauses pauses;
  WorkerRegistry workers;
  LongTasks long_tasks;
  View view;
};

}  // namespace millrace
