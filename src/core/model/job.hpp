#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.hpp"
#include "core/model/types.hpp"

namespace millrace {

/// The five states. beanstalk says delayed, ready, reserved, delayed, buried; FWP says scheduled,
/// enqueued, working, retries, dead.
enum class JobState : std::uint8_t { kScheduled, kReady, kReserved, kRetrying, kDead };
inline constexpr std::size_t kJobStateCount = 5;

/// What the body is, which decides how the job takes its place in line and how it is shown.
enum class JobKind : std::uint8_t {
  kBytes,     ///< put by a beanstalk client: opaque bytes; its sequence is always its id
  kWorkUnit,  ///< pushed by FWP: an encoded work unit; it draws a fresh sequence at each entry
};

/// What is remembered of a job's failed runs (FWP member `failure`).
struct Failure {
  std::int64_t retry_count = 0;  ///< 0 after the first failure, then one more after each
  std::int64_t remaining = 0;
  Time failed_at{};  ///< the first failure
  Time next_at{};    ///< when the next run was planned; the epoch when none ever was
  std::string errtype;
  std::string message;
  std::vector<std::string> backtrace;

  bool operator==(const Failure&) const = default;
};

/// Who has a reserved job in hand, and so what ends the reservation.
struct Reservation {
  /// The connection that holds it (beanstalk), or 0 when a worker does (FWP). A connection's hold
  /// ends with the connection, and is not journaled; a worker's survives both.
  ClientId client = 0;
  std::string wid;  ///< the worker, or empty for a producer that fetched
  std::string jid;  ///< the name that ACK and FAIL will use
  Time reserved_at{};

  [[nodiscard]] bool is_held_by_worker() const { return client == 0; }
  bool operator==(const Reservation&) const = default;
};

/// How often things happened to a job (beanstalk `stats-job`).
struct Tallies {
  std::uint32_t reserves = 0;
  std::uint32_t timeouts = 0;
  std::uint32_t releases = 0;
  std::uint32_t buries = 0;
  std::uint32_t kicks = 0;

  bool operator==(const Tallies&) const = default;
};

/// What only a job that was reserved at least once has. Kept apart so that a waiting job stays
/// small.
struct JobHistory {
  Tallies tallies;
  std::unique_ptr<Failure> failure;
  std::unique_ptr<Reservation> reservation;  ///< set exactly while the job is reserved
};

/// One job as the store keeps it. Only `Store::apply` changes one.
struct Job {
  JobId id = 0;
  Sequence sequence = 0;
  Time created_at{};
  Time enqueued_at{};  ///< when it last became ready; the epoch when it never was
  /// Scheduled, retrying: when due. Reserved: the deadline. Dead: since when, never the same for
  /// two dead jobs. Ready: not used.
  Time when{};
  mutable std::unique_ptr<char[]> body;  ///< null: empty, or spilled; see core/bodies.hpp
  std::unique_ptr<JobHistory> history;   ///< null until it is first reserved or fails
  /// Where the log holds the body, within the last whole record of the job. While `is_placed` is
  /// false: its offset in the batch that collects.
  Lsn body_at = 0;
  JobSlot older = kNoJob;  ///< neighbours in the order of the log
  JobSlot newer = kNoJob;
  std::uint32_t body_bytes = 0;
  QueueId queue = 0;
  Pri pri = 0;
  std::uint32_t ttr_s = 1;    ///< how long a reservation lasts, at least 1
  std::uint32_t delay_s = 0;  ///< the delay last asked for; shown, not used
  JobState state = JobState::kReady;
  JobKind kind = JobKind::kBytes;
  bool is_placed = false;

  /// True when only the log holds the body.
  [[nodiscard]] bool is_spilled() const { return body_bytes != 0 && !body; }
  /// Whoever hands out a job sees to it that the body is in memory.
  [[nodiscard]] std::string_view body_view() const {
    CHECK(!is_spilled());
    return {body.get(), body_bytes};
  }
  [[nodiscard]] Tallies tallies() const { return history ? history->tallies : Tallies{}; }
  [[nodiscard]] const Failure* failure() const {
    return history ? history->failure.get() : nullptr;
  }
  [[nodiscard]] const Reservation* reservation() const {
    return history ? history->reservation.get() : nullptr;
  }
};

}  // namespace millrace
