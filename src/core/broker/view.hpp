#pragma once

#include <cstdint>
#include <vector>

#include "core/broker/clients/client.hpp"
#include "core/model/types.hpp"
#include "core/model/worker.hpp"
#include "core/state/jobs_view.hpp"
#include "core/state/store.hpp"

namespace millrace {

/// What the broker counts besides the stored totals, all queues together, since the process began.
struct Tally {
  std::uint64_t jobs_put = 0;
  std::uint64_t pushes_repeated = 0;         ///< that were sent again, and added no job
  std::uint64_t reservations_timed_out = 0;  ///< held by a connection, TTR ran out
  std::uint64_t reservations_expired = 0;    ///< held by a worker, `reserve_for` ran out
  std::uint64_t scheduled_enqueued = 0;      ///< scheduled jobs that came due
  std::uint64_t retries_enqueued = 0;        ///< retrying jobs that came due
  std::uint64_t jobs_expired = 0;            ///< `expires_at` passed before a run began
  std::uint64_t workers_reaped = 0;
  std::uint64_t bodies_unreadable = 0;   ///< jobs whose body the log did not give
  std::uint64_t jobs_set_aside = 0;      ///< dead now, since their bodies are to be read again
  std::uint64_t jobs_lost = 0;           ///< came back, or died, since their workers were gone
  std::uint64_t dead_purged = 0;         ///< pushed jobs that were dead for too long, or too many
  std::uint64_t cron_enqueued = 0;       ///< runs of cron entries whose job was pushed
  std::uint64_t cron_refused = 0;        ///< and those whose job was refused
  std::uint64_t locks_taken = 0;         ///< by pushed jobs
  std::uint64_t locks_denied = 0;        ///< pushes of jobs whose lock another job held
  std::uint64_t locks_without_time = 0;  ///< pushed jobs that ask for one and say no time
  std::uint64_t waiting = 0;             ///< clients that wait for a job now
  std::uint64_t batches_added = 0;
  std::uint64_t batches_dropped = 0;  ///< never committed, and not used any more
  std::uint64_t batch_callbacks = 0;  ///< that were pushed
};

/// Reads the broker's state, and changes nothing that a client could see: each part answers for
/// itself. The results point into that state, and are valid until the next broker operation.
class View {
 public:
  View(const Store& store, const Clients& clients, const Workers& workers, const Tally& tally)
      : store_(store), jobs_(store), clients_(clients), workers_(workers), tally_(tally) {}

  /// Jobs with their bodies.
  [[nodiscard]] const JobsView& jobs() const { return jobs_; }
  /// How many jobs there are in each state.
  [[nodiscard]] const JobOrders& orders() const { return store_.jobs().orders(); }
  [[nodiscard]] const Queues& queues() const { return store_.queues(); }
  [[nodiscard]] const Throttles& throttles() const { return store_.throttles(); }

  [[nodiscard]] const JobBatches& batches() const { return store_.batches(); }
  [[nodiscard]] const Tracks& tracks() const { return store_.tracks(); }
  /// What is remembered of cron entries, those included that no config file has any more.
  [[nodiscard]] const CronEntries& cron() const { return store_.cron(); }
  [[nodiscard]] const ErrorMarks& error_marks() const { return store_.error_marks(); }
  [[nodiscard]] const AuditLog& audit_log() const { return store_.audit_log(); }
  [[nodiscard]] const SavedViews& saved_views() const { return store_.saved_views(); }
  [[nodiscard]] const Tokens& tokens() const { return store_.tokens(); }
  [[nodiscard]] const EndedPushes& ended_pushes() const { return store_.ended_pushes(); }
  /// The jobs that ended last.
  [[nodiscard]] const FinishedJobs& finished() const { return store_.finished(); }

  [[nodiscard]] const Clients& clients() const { return clients_; }
  /// The client is connected.
  [[nodiscard]] const Client& client(ClientId id) const;
  [[nodiscard]] const Workers& workers() const { return workers_; }
  /// The worker that the connection speaks for, or null.
  [[nodiscard]] const Worker* worker_of(ClientId client) const;

  [[nodiscard]] const Tally& tally() const { return tally_; }
  [[nodiscard]] const CountersChanged& counters() const { return store_.totals().now(); }
  /// The days before the one that `counters` is about, oldest first.
  [[nodiscard]] const std::vector<DayCounts>& history() const { return store_.days().list(); }

  /// For showing times, which are steady times here.
  [[nodiscard]] WallClock wall_clock() const { return store_.wall_clock(); }

 private:
  const Store& store_;
  JobsView jobs_;
  const Clients& clients_;
  const Workers& workers_;
  const Tally& tally_;
};

}  // namespace millrace
