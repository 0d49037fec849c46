#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/broker/features/expired_jobs.hpp"
#include "core/broker/features/type_meters.hpp"
#include "core/broker/jobs/job_events.hpp"
#include "core/broker/requests.hpp"
#include "core/model/client.hpp"
#include "core/ports/run_watch.hpp"
#include "core/ports/work_unit.hpp"
#include "core/state/ledger.hpp"

namespace millrace {

/// A connection that reserves is told DEADLINE_SOON when a job that it holds has no more than this
/// left (beanstalk protocol).
inline constexpr Duration kSafetyMargin = 1s;

/// The hold of a worker where the request names one, else of the connection.
[[nodiscard]] inline Reservation reservation_for(ClientId client,
                                                 const std::optional<std::string>& wid) {
  return {.client = wid ? 0 : client,
          .consumer = client,
          .wid = wid.value_or(""),
          .jid = {},
          .reserved_at = {}};
}

/// Begins reservations and finds the ones that clients mean. `JobMoves` ends them.
class Reservations {
 public:
  /// All of them outlive this.
  Reservations(Ledger& ledger, JobEvents& events, ExpiredJobs& expired, TypeMeters& types,
               const WorkUnitFormat& format)
      : ledger_(ledger), events_(events), expired_(expired), types_(types), format_(format) {}

  /// Reserves the job, which nobody holds, from now until its TTR is over. `reservation` names
  /// the holder; the rest is filled in. The body is in memory afterwards. Throws
  /// std::runtime_error, and changes nothing, when it cannot be read back.
  const Job& begin(const Job& job, Reservation reservation, Time now);
  /// The same with the queue's first ready job.
  const Job& begin_first(Queue& queue, Reservation reservation, Time now);

  /// Whether the queue has a job that may still be run. Removes expired ones from its front.
  [[nodiscard]] bool has_job(Queue& queue, Time now) { return expired_.clear_front(queue, now); }

  /// The queue whose first ready job the request should get; null when there is none. Queues that
  /// are paused or whose limits are reached count as empty.
  [[nodiscard]] Queue* choose(const Client& client, const ReserveRequest& request, Time now);

  /// The job, if that connection holds it; else null.
  [[nodiscard]] const Job* held_by_connection(ClientId client, JobId id) const;
  /// The job of that name that a worker holds, if there is one. Of several, that of this worker if
  /// it is among the 64 oldest, else the oldest; but none that this worker has lost.
  [[nodiscard]] const Job* held_under(std::string_view jid, std::string_view wid) const;

  /// When the connection must be told that a deadline is near; kNever when it holds nothing.
  [[nodiscard]] Time deadline_soon_at(ClientId client) const;

  /// Counts the run of a reserved job, which has just ended: in the totals, and in the measurements
  /// of its queue and type. `watch` is told of it.
  void count_run(const Job& job, RunEnd end, Time now);

  /// See `Broker::watch_runs`.
  void watch_runs(RunWatch* watch) { watch_ = watch; }

  /// See `Broker::step_count`.
  [[nodiscard]] std::uint64_t step_count() const { return step_count_; }

 private:
  void expect_next(Queue& queue);
  void look_up(const ReserveRequest& request) const;
  [[nodiscard]] bool is_open(Queue& queue, std::string_view wid, ClientId client, Time now);

  Ledger& ledger_;
  JobEvents& events_;
  ExpiredJobs& expired_;
  TypeMeters& types_;
  const WorkUnitFormat& format_;
  std::uint64_t step_count_ = 0;
  RunWatch* watch_ = nullptr;
};

}  // namespace millrace
