#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/broker/clients/client.hpp"
#include "core/broker/clients/gone_workers.hpp"
#include "core/broker/features/expired_jobs.hpp"
#include "core/broker/features/type_meters.hpp"
#include "core/broker/jobs/job_events.hpp"
#include "core/broker/requests.hpp"
#include "core/ports/run_watch.hpp"
#include "core/ports/work_unit.hpp"
#include "core/state/ledger.hpp"

namespace millrace {

/// A connection that reserves is told DEADLINE_SOON when a job that it holds has no more than this
/// left (beanstalk protocol).
inline constexpr Duration kSafetyMargin = 1s;

/// Begins reservations and finds the ones that clients mean. `JobMoves` ends them.
class Reservations {
 public:
  /// All of them outlive this.
  Reservations(Ledger& ledger, JobEvents& events, ExpiredJobs& expired, TypeMeters& types,
               const WorkUnitFormat& format, GoneWorkers& gone)
      : ledger_(ledger),
        events_(events),
        expired_(expired),
        types_(types),
        format_(format),
        gone_(gone) {}

  /// Reserves the job, which nobody holds, from now until its TTR is over: for the worker `wid` of
  /// the client, or without one for the connection. Its body can be read
  /// (`UnreadableBodies::can_run`).
  const Job& begin(const Job& job, Client& client, std::optional<std::string> wid, Time now);
  /// The same with a job that `next` or `choose` has answered.
  const Job& begin_next(const Job& job, Client& client, std::optional<std::string> wid, Time now);

  /// The place of the job that the queue hands out next; nullopt when there is none that may be
  /// run. To be asked where the queue is open: neither paused nor at its limits. Removes expired
  /// jobs from its front.
  [[nodiscard]] std::optional<ReadyEntry> next(Queue& queue, Time now) {
    if (queue.lines != nullptr || ledger_.store().throttles().has_types()) {
      return next_in_line(queue, now);
    }
    if (!expired_.clear_front(queue, now)) return std::nullopt;
    return *queue.ready.begin();
  }

  /// The job that the request should get; null when there is none. Queues that are paused or whose
  /// limits are reached count as empty.
  [[nodiscard]] const Job* choose(const Client& client, const ReserveRequest& request, Time now);

  /// The job, if that connection holds it; else null.
  [[nodiscard]] const Job* held_by_connection(ClientId client, JobId id) const;
  /// What a client of this worker means when it reports a job of that name. FWP has no other name
  /// for a job, and any client may report it.
  struct Meant {
    /// The job that this worker holds; of a worker that never had a job, or a client that is none,
    /// the oldest that any worker holds. Of namesakes, 64 are looked at.
    const Job* held = nullptr;
    /// This worker held the job last, and its run was taken from it: the job waits to run again.
    const Job* late = nullptr;
    /// The same, but another worker runs the job by now.
    const Job* overtaken = nullptr;
  };
  /// A worker that had a job reports its own runs, and never those of another worker.
  [[nodiscard]] Meant meant_by(std::string_view jid, std::string_view wid) const;

  /// When the connection must be told that a deadline is near; kNever when it holds nothing.
  [[nodiscard]] Time deadline_soon_at(ClientId client) const;

  /// Counts the run of a job, which has just ended: in the totals, and in the measurements of its
  /// queue and type. `watch` is told of it. `began`: when the job was reserved for it.
  void count_run(const Job& job, RunEnd end, Time began, Time now);

  /// See `Broker::watch_runs`.
  void watch_runs(RunWatch* watch) { watch_ = watch; }

  /// See `Broker::step_count`.
  [[nodiscard]] std::uint64_t step_count() const { return step_count_; }

 private:
  [[nodiscard]] const Job* late_run(std::string_view jid, std::string_view wid) const;
  void expect_next(Queue& queue);
  void look_up(const ReserveRequest& request) const;
  [[nodiscard]] std::optional<ReadyEntry> next_in_line(Queue& queue, Time now);
  [[nodiscard]] std::optional<ReadyEntry> next_for(Queue& queue, std::string_view wid,
                                                   ClientId client, Time now);

  Ledger& ledger_;
  JobEvents& events_;
  ExpiredJobs& expired_;
  TypeMeters& types_;
  const WorkUnitFormat& format_;
  GoneWorkers& gone_;
  std::uint64_t step_count_ = 0;
  RunWatch* watch_ = nullptr;
};

}  // namespace millrace
