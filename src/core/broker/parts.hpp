#pragma once

#include "core/broker/admission_control.hpp"
#include "core/broker/batches/batch_callbacks.hpp"
#include "core/broker/batches/batch_lives.hpp"
#include "core/broker/broker.hpp"
#include "core/broker/clients/connected_clients.hpp"
#include "core/broker/clients/gone_workers.hpp"
#include "core/broker/clients/waits.hpp"
#include "core/broker/clients/worker_registry.hpp"
#include "core/broker/features/activity.hpp"
#include "core/broker/features/cron_runs.hpp"
#include "core/broker/features/expired_jobs.hpp"
#include "core/broker/features/followed_runs.hpp"
#include "core/broker/features/push_once.hpp"
#include "core/broker/features/slots.hpp"
#include "core/broker/features/tracking.hpp"
#include "core/broker/features/type_meters.hpp"
#include "core/broker/features/unreadable_bodies.hpp"
#include "core/broker/jobs/attempt_log.hpp"
#include "core/broker/jobs/dead_set.hpp"
#include "core/broker/jobs/expiry.hpp"
#include "core/broker/jobs/job_events.hpp"
#include "core/broker/jobs/job_moves.hpp"
#include "core/broker/jobs/lost_jobs.hpp"
#include "core/broker/jobs/new_jobs.hpp"
#include "core/broker/jobs/pauses.hpp"
#include "core/broker/jobs/reservations.hpp"
#include "core/broker/jobs/retries.hpp"
#include "core/broker/jobs/schedule.hpp"
#include "core/broker/tasks/long_tasks.hpp"
#include "core/broker/view.hpp"
#include "core/state/ledger.hpp"

namespace millrace {

/// The parts that the broker's operations are made of. Each knows only parts above it.
struct BrokerParts {
  BrokerParts(Ledger& given, const WorkUnitFormat& format, const Broker::Options& options);

  Ledger& ledger;
  Tally tally;
  AdmissionControl admission;
  Activity activity;
  ConnectedClients clients;
  Tracking tracking;
  PushOnce push_once;
  TypeMeters types;
  FollowedRuns followed;
  JobEvents events;
  UnreadableBodies unreadable;
  ExpiredJobs expired;
  Reservations reservations;
  Waits waits;
  GoneWorkers gone;
  WorkerRegistry workers;
  AttemptLog attempts;
  JobMoves moves;
  NewJobs new_jobs;
  BatchCallbacks batch_callbacks;
  BatchLives batch_lives;
  Retries retries;
  Schedule schedule;
  Expiry expiry;
  LostJobs lost_jobs;
  DeadSet dead_set;
  Pauses pauses;
  CronRuns cron;
  Slots slots;
  LongTasks long_tasks;
  View view;
};

}  // namespace millrace
