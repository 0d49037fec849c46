#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/box.hpp"
#include "base/check.hpp"
#include "core/model/features/job_features.hpp"
#include "core/model/log_place.hpp"
#include "core/model/types.hpp"
#include "core/model/wall_clock.hpp"

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
  /// What `failure_group_number` has made of its type, message and backtrace; 0: it was not asked
  /// yet. It is not stored, and no difference. Whoever changes those texts must reset it.
  struct Group {
    mutable std::uint64_t number = 0;
    bool operator==(const Group&) const { return true; }
  };
  Group group = {};

  bool operator==(const Failure&) const = default;
};

/// The client that holds a reserved job, and so what ends the reservation.
struct Reservation {
  /// The connection that holds it (beanstalk), or 0 when a worker does (FWP). A connection's hold
  /// ends with the connection and is not stored; a worker's survives both.
  ClientId client = 0;
  /// The connection that asked for the job; 0 after a restart. Not stored. Without a `wid` it is
  /// what counts as the worker (`Throttles`).
  ClientId consumer = 0;
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

/// What only a job that was reserved or has failed at least once has. Kept apart so that a waiting
/// job stays small.
struct JobHistory {
  Tallies tallies;
  Box<Failure> failure;
  Box<Reservation> reservation;  ///< set exactly while the job is reserved
  Time lock_ends{};  ///< of a lock that was taken anew, or freed by hand; by the wall clock

  [[nodiscard]] bool is_empty() const { return *this == JobHistory{}; }
  bool operator==(const JobHistory&) const = default;
};

/// The parts of a job that change during its life and are stored. A new member must also be in the
/// list of `core/model/fields.hpp`, which does not compile without it.
struct JobFields {
  Sequence sequence = 0;
  Time enqueued_at{};  ///< when it last became ready; the epoch when it never was
  /// Scheduled, retrying: when due. Reserved: the deadline. Dead: since when, never the same for
  /// two dead jobs. Ready: not used. See `StoredJob::follows_wall`.
  Time when{};
  Box<JobHistory> history;  ///< empty until it is first reserved or fails
  Pri pri = 0;
  std::uint32_t delay_s = 0;  ///< the delay last asked for; shown, not used
  JobState state = JobState::kReady;
  std::uint8_t marks = 0;  ///< bits of `job_marks`

  [[nodiscard]] bool has_mark(std::uint8_t mark) const { return (marks & mark) != 0; }
  [[nodiscard]] Tallies tallies() const { return history ? history->tallies : Tallies{}; }
  [[nodiscard]] const Failure* failure() const {
    return history ? history->failure.get() : nullptr;
  }
  [[nodiscard]] const Reservation* reservation() const {
    return history ? history->reservation.get() : nullptr;
  }
  [[nodiscard]] bool is_held_by_connection() const {
    return reservation() != nullptr && !reservation()->is_held_by_worker();
  }

  /// A copy, to be altered and recorded.
  [[nodiscard]] JobFields fields() const { return *this; }

  /// To be changed; made if there is none yet.
  JobHistory& edit_history() { return history ? *history : history.emplace(); }
  void end_reservation() {
    if (history) history->reservation.reset();
    marks &= static_cast<std::uint8_t>(~job_marks::kHolderBeats);
  }

  bool operator==(const JobFields&) const = default;
};

/// All of a job that is stored, but for its id, queue and body, whose forms in memory and in the
/// log differ. The members here never change.
struct StoredJob : JobFields {
  JobKind kind = JobKind::kBytes;
  std::uint32_t ttr_s = 1;  ///< how long a reservation lasts, at least 1
  Time created_at{};
  Box<JobFeatures> features;  ///< empty for most jobs

  /// While it is scheduled, its `when` is a time of the wall clock, as that of a pushed job with
  /// `at`. A release with a delay ends this.
  [[nodiscard]] bool is_scheduled_by_wall() const {
    return kind == JobKind::kWorkUnit && tallies().releases == 0;
  }
  [[nodiscard]] bool follows_wall() const {
    return state == JobState::kScheduled && is_scheduled_by_wall();
  }

  /// `when` as steady time, and as wall time.
  [[nodiscard]] Time steady_when(WallClock clock) const {
    return follows_wall() ? clock.steady(when) : when;
  }
  [[nodiscard]] Time wall_when(WallClock clock) const {
    return follows_wall() ? when : clock.shown(when);
  }

  /// It has its lock, which others may take while it runs: it gets it back if it was not run after
  /// all, and nobody has.
  [[nodiscard]] bool lends_lock() const {
    return state == JobState::kReserved && has_mark(job_marks::kHoldsLock) &&
           features->locks_until_start;
  }

  /// Others may not take its lock before its time is over.
  [[nodiscard]] bool holds_lock() const {
    return features && has_mark(job_marks::kHoldsLock) && !lends_lock();
  }

  /// When the lock that it holds ends, by the wall clock.
  [[nodiscard]] Time lock_ends() const {
    if (history && history->lock_ends != Time{}) return history->lock_ends;
    return features ? features->lock_ends : Time{};
  }

  /// It is not to be run any more. A job that runs already, or is dead, is left alone.
  [[nodiscard]] bool has_expired(Time wall) const {
    return features && features->expires() && features->expires_at <= wall;
  }

  bool operator==(const StoredJob&) const = default;
};

/// One job as the store keeps it. Only `Store::apply` changes one.
struct Job : StoredJob {
  JobId id = 0;
  mutable std::unique_ptr<char[]> body;  ///< null: empty, or spilled; see core/state/bodies.hpp
  /// In the order of the log. Its place is the byte before the body, in the job's last whole
  /// record: that byte is there even where the body is empty.
  LogNode log;
  std::uint32_t body_bytes : 31 = 0;
  /// The log did not give the body when it was read last, and it counts as empty.
  mutable std::uint32_t is_body_missing : 1 = 0;
  QueueId queue = 0;

  /// True when only the log holds the body.
  [[nodiscard]] bool is_spilled() const { return body_bytes != 0 && !body; }
  /// The body is in memory, as it was put. Whoever shows a job asks: one that the log does not give
  /// is shown without.
  [[nodiscard]] bool has_body() const {
    return !is_spilled() && (body_bytes != 0 || !has_mark(job_marks::kBodyUnreadable));
  }
  /// Whoever hands out a job sees to it that the body is in memory.
  [[nodiscard]] std::string_view body_view() const {
    if (body) return {body.get(), body_bytes};
    CHECK(body_bytes == 0 || is_body_missing != 0);
    return {};
  }
  /// Where the log holds the body. Of a job whose whole record is in the log.
  [[nodiscard]] Lsn body_at() const { return log.place.lsn() + 1; }
};

// Ten million jobs wait in memory, and a chunk of them is one of the allocator's sizes.
static_assert(sizeof(Job) == 104,
              "a Job has another size: see kJobBytes in jobs.cpp, and measure ./dev bench size");

}  // namespace millrace
