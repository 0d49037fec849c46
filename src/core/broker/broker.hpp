#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/broker/admin_operations.hpp"
#include "core/broker/batches/batch_operations.hpp"
#include "core/broker/connection_operations.hpp"
#include "core/broker/features/activity.hpp"
#include "core/broker/features/cron_runs.hpp"
#include "core/broker/features/push_once.hpp"
#include "core/broker/features/type_meters.hpp"
#include "core/broker/requests.hpp"
#include "core/broker/view.hpp"
#include "core/broker/worker_operations.hpp"
#include "core/model/refusal.hpp"
#include "core/model/types.hpp"
#include "core/ports/failure_watch.hpp"
#include "core/ports/loss_watch.hpp"
#include "core/ports/run_watch.hpp"
#include "core/ports/session.hpp"
#include "core/ports/work_unit.hpp"
#include "core/state/features/finished_jobs.hpp"
#include "core/state/ledger.hpp"

namespace millrace {

/// The one place where decisions about jobs are made. What all clients do is here, FETCH included
/// (`reserve`). What only beanstalk connections do is in `connections()`, what only Faktory workers
/// do in `workers()`, what only operators do in `admin()`, what is done with batches of jobs in
/// `batches()`. It knows neither the protocols nor the web API.
///
/// Each operation decides from the present state and either refuses, which changes nothing, or
/// commits records to the ledger, which applies each of them at once. The ledger collects the
/// records of all operations of a turn into one batch of the log: a client may be told about an
/// operation only when that batch is durable.
///
/// It is given `now`, and the random numbers follow from a seed: equal calls give equal results.
/// No operation does more than a slice of work (`kSliceJobs` moves); the rest is done in `tick`.
class Broker {
 public:
  struct Options {
    std::uint64_t random_seed = 0;
    /// Random bits that nobody can guess: names locks, where the log has none yet.
    LockSecret lock_secret{};
    /// How many pushed jobs may be dead; beyond it the one that died first is removed.
    std::size_t dead_jobs_max = std::numeric_limits<std::size_t>::max();
    PushRules pushes = {};
    FinishedJobs::Limits finished = {};
  };

  /// `ledger` and `format` outlive the broker. Nothing else commits to the ledger; its owner
  /// replays the log into it before the first client connects, and takes its batches.
  Broker(Ledger& ledger, const WorkUnitFormat& format, Options options);
  ~Broker();
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  // ---- connections ------------------------------------------------------------------------------

  /// `session` gets what the client waits for by `deliver`, until `disconnect`.
  ClientId connect(Session& session);

  /// The jobs that the connection held become ready, and its wait is forgotten. The jobs that its
  /// worker holds stay reserved.
  void disconnect(ClientId client, Time now);

  /// The sessions that `deliver` was called on since the last call, and that are still connected:
  /// their driver should `resume` them and send their output.
  [[nodiscard]] std::vector<Session*> take_woken();

  /// The same for another reason. The client is connected.
  void wake(ClientId client);

  // ---- jobs -------------------------------------------------------------------------------------

  /// A push that was sent before is answered with the job that it made then. Refused: a queue name
  /// that is too long, a batch that is not there, a lock that another job holds, or any job while
  /// `refuses_jobs`. A client that waits for the job has it when this returns. Recorded: the whole
  /// job, that the queue of a pushed work unit is kept, and before the first job with a lock the
  /// secret. `worker`: the `wid` of the worker that pushes, or empty.
  Answer<JobId> put(const NewJob& job, Time now, std::string_view worker = {});

  /// By which protocols name locks (`LockKey`).
  [[nodiscard]] LockSecret lock_secret() const;

  /// The job, or the reason why there is none, at once; nullopt when the client waits now and the
  /// end will be delivered. A client waits for one thing at a time. A worker's reservation is
  /// recorded, a connection's is not, since it ends with the process.
  std::optional<Delivery> reserve(ClientId client, const ReserveRequest& request, Time now);

  /// The client, if it waits, gives up (its side of the connection is closed): nothing will be
  /// delivered.
  void stop_waiting(ClientId client);

  // ---- groups of operations ---------------------------------------------------------------------

  [[nodiscard]] ConnectionOperations& connections() { return connections_; }
  [[nodiscard]] WorkerOperations& workers() { return workers_; }
  [[nodiscard]] AdminOperations& admin() { return admin_; }
  [[nodiscard]] CronRuns& cron();
  [[nodiscard]] BatchOperations& batches() { return batches_; }

  // ---- room -------------------------------------------------------------------------------------

  /// Operations that this level does not admit are refused with `kNoRoom` from now on.
  void set_admission(Admission admission);
  [[nodiscard]] Admission admission() const;
  [[nodiscard]] bool refuses_jobs() const { return admission() != Admission::kEverything; }

  // ---- observation ------------------------------------------------------------------------------

  /// `watch` is told of each run that ends from now on; null: nobody is. It outlives the broker, or
  /// is taken away.
  void watch_runs(RunWatch* watch);
  /// The same for each failure of a job that stays.
  void watch_failures(FailureWatch* watch);
  /// The same for each job that is taken back from a lost worker, or that loses its body.
  void watch_losses(LossWatch* watch);

  /// `Ledger::replay` of what another server does now, which is measured.
  [[nodiscard]] Outcome<Done> follow(std::string_view batch, Lsn begin, Time now);

  // ---- time -------------------------------------------------------------------------------------

  /// What the wall clock shows from now on. Scheduled jobs that follow it may be due at once, and
  /// all times are shown anew; nothing else changes. To be followed by `tick`.
  void set_wall_clock(WallClock clock);

  /// Does a slice of everything that has come due. Answers when to call again: kAtOnce when
  /// more waits already, kNever when nothing is planned.
  Time tick(Time now);

  /// As `tick`, but only for jobs whose bodies could not be read: compaction waits for this.
  void see_to_missing_bodies(Time now);

  /// How many queues were looked at for clients so far. Each may cost a cache miss or more, so a
  /// session counts its work by them.
  [[nodiscard]] std::uint64_t step_count() const;

  // ---- reading ----------------------------------------------------------------------------------

  [[nodiscard]] const View& view() const;
  /// Whoever lets in changes of people and administrators notes them there.
  [[nodiscard]] Activity& activity();
  /// How runs have ended, by jobtype.
  [[nodiscard]] const TypeMeters& types() const;
  [[nodiscard]] const Ledger& ledger() const;

 private:
  [[nodiscard]] const Job* choose(const Client& client, const ReserveRequest& request, Time now);

  std::unique_ptr<BrokerParts> parts_;
  ConnectionOperations connections_;
  WorkerOperations workers_;
  AdminOperations admin_;
  BatchOperations batches_;
  LockSecret lock_secret_;  ///< it is recorded with the first job with a lock
};

}  // namespace millrace
