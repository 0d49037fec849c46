#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/broker/requests.hpp"
#include "core/model/client.hpp"
#include "core/ports/work_unit.hpp"
#include "core/state/ledger.hpp"

namespace millrace {

/// A connection that reserves is told DEADLINE_SOON when a job that it holds has no more than this
/// left (beanstalk protocol).
inline constexpr Duration kSafetyMargin = 1s;

/// The hold of a worker where the request names one, else of the connection.
[[nodiscard]] inline Reservation reservation_for(ClientId client,
                                                 const std::optional<std::string>& wid) {
  return {.client = wid ? 0 : client, .wid = wid.value_or(""), .jid = {}, .reserved_at = {}};
}

/// Begins reservations and finds the ones that clients mean. `JobMoves` ends them.
class Reservations {
 public:
  /// Both outlive this.
  Reservations(Ledger& ledger, const WorkUnitFormat& format) : ledger_(ledger), format_(format) {}

  /// Reserves the job, which nobody holds, from now until its TTR is over. `reservation` names
  /// the holder; the rest is filled in. The body is in memory afterwards. Throws
  /// std::runtime_error, and changes nothing, when it cannot be read back.
  const Job& begin(const Job& job, Reservation reservation, Time now);
  /// The same with the queue's first ready job.
  const Job& begin_first(Queue& queue, Reservation reservation, Time now);

  /// The queue whose first ready job the request should get; null when there is none.
  [[nodiscard]] Queue* choose(const Client& client, const ReserveRequest& request, Time now);

  /// The job, if that connection holds it; else null.
  [[nodiscard]] const Job* held_by_connection(ClientId client, JobId id) const;
  /// The job of that name that a worker holds, if there is one. Of several, that of this worker if
  /// it is among the 64 oldest, else the oldest.
  [[nodiscard]] const Job* held_under(std::string_view jid, std::string_view wid) const;

  /// When the connection must be told that a deadline is near; kNever when it holds nothing.
  [[nodiscard]] Time deadline_soon_at(ClientId client) const;

  /// Counts the run of a reserved job, which has just ended: in the totals, and in the queue's
  /// measurements.
  void count_run(const Job& job, Time now);

  /// See `Broker::step_count`.
  [[nodiscard]] std::uint64_t step_count() const { return step_count_; }

 private:
  void expect_next(Queue& queue);

  Ledger& ledger_;
  const WorkUnitFormat& format_;
  std::uint64_t step_count_ = 0;
};

}  // namespace millrace
