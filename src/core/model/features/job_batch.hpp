#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/model/features/job_features.hpp"
#include "core/model/log_place.hpp"
#include "core/model/types.hpp"

namespace millrace {

/// How far a callback of a batch is.
enum class CallbackState : std::uint8_t {
  kNone,       ///< the batch has no such callback
  kWaiting,    ///< for what makes it due
  kEnqueued,   ///< its job is there: waiting, running, failing or dead
  kSucceeded,  ///< its job was acknowledged
  kGone,       ///< its job has ended in another way
};

/// What is counted of a batch, and how far it is. It changes with the jobs, and is stored as it is
/// once for each batch of records.
struct JobBatchFields {
  std::uint64_t total = 0;  ///< jobs that were ever pushed into it
  std::uint64_t lost = 0;   ///< members that have ended without success
  // What is there has a slot of 32 bits.
  std::uint32_t pending = 0;     ///< members that are there: not yet acknowledged
  std::uint32_t failing = 0;     ///< of these, those that failed last time, or are dead
  std::uint32_t unexecuted = 0;  ///< of these, those that have not run yet
  std::uint32_t children = 0;
  std::uint32_t unsettled = 0;     ///< children that are not settled
  std::uint32_t unsuccessful = 0;  ///< children that have not succeeded, removed ones included
  // The jobs of callbacks that were enqueued; 0: none.
  JobId complete_job = 0;
  JobId success_job = 0;
  JobId death_job = 0;
  Time since{};  ///< open: last used; finished: since when
  std::uint32_t states = 0;

  // ---- parts of `states` ------------------------------------------------------------------------

  enum Mark : std::uint32_t {
    kCommitted = 1,
    kWasCommitted = 2,  ///< at least once
    kHasDeath = 4,      ///< a member has died, or ended without success
    kSettled = 8,       ///< its parent counts it as settled
    kSuccessful = 16,   ///< its parent counts it as successful
    kFinished = 32,     ///< `since` says since when
  };
  static constexpr int kMarkBits = 6;

  [[nodiscard]] bool has(Mark mark) const { return (states & mark) != 0; }
  void set(Mark mark, bool on) { states = on ? states | mark : states & ~std::uint32_t{mark}; }

  [[nodiscard]] CallbackState callback(BatchRole role) const {
    return static_cast<CallbackState>(states >> shift_of(role) & 7);
  }
  void set_callback(BatchRole role, CallbackState state) {
    states &= ~(7u << shift_of(role));
    states |= static_cast<std::uint32_t>(state) << shift_of(role);
  }

  [[nodiscard]] JobId callback_job(BatchRole role) const {
    return const_cast<JobBatchFields*>(this)->callback_job(role);
  }
  [[nodiscard]] JobId& callback_job(BatchRole role) {
    if (role == BatchRole::kComplete) return complete_job;
    return role == BatchRole::kSuccess ? success_job : death_job;
  }

  // ---- what follows -----------------------------------------------------------------------------

  [[nodiscard]] std::uint64_t failed() const { return failing + lost; }

  /// All members have run once, and nothing of the children is under way.
  [[nodiscard]] bool is_executed() const {
    return has(kCommitted) && unexecuted == 0 && unsettled == 0;
  }
  /// Its `complete` callback has ended, or there is none.
  [[nodiscard]] bool is_completed() const {
    const CallbackState complete = callback(BatchRole::kComplete);
    return is_executed() && complete != CallbackState::kWaiting &&
           complete != CallbackState::kEnqueued;
  }
  /// Nothing is left that could fail: `success` is due, if it was not enqueued before.
  [[nodiscard]] bool is_all_good() const {
    return is_completed() && pending == 0 && failed() == 0 && unsuccessful == 0;
  }
  /// For its parent: nothing of it is under way but what may be tried again.
  [[nodiscard]] bool is_settled() const {
    const CallbackState success = callback(BatchRole::kSuccess);
    return is_completed() && success != CallbackState::kEnqueued &&
           !(success == CallbackState::kWaiting && is_all_good());
  }
  /// For its parent: all of it has succeeded.
  [[nodiscard]] bool is_successful() const {
    const CallbackState success = callback(BatchRole::kSuccess);
    return is_all_good() &&
           (success == CallbackState::kNone || success == CallbackState::kSucceeded);
  }
  /// Nothing of it is left but its record.
  [[nodiscard]] bool is_finished() const {
    return is_settled() && pending == 0 && callback(BatchRole::kDeath) != CallbackState::kEnqueued;
  }

  /// Whether that callback is to be enqueued now.
  [[nodiscard]] bool is_due(BatchRole role) const {
    if (callback(role) != CallbackState::kWaiting) return false;
    if (role == BatchRole::kComplete) return is_executed();
    if (role == BatchRole::kSuccess) return is_all_good();
    return has(kCommitted) && has(kHasDeath);
  }
  /// Whether anything is to be done: a callback is due, or its parent is to be told.
  [[nodiscard]] bool has_work() const {
    return is_due(BatchRole::kComplete) || is_due(BatchRole::kSuccess) ||
           is_due(BatchRole::kDeath) || has(kSettled) != is_settled() ||
           has(kSuccessful) != is_successful() || has(kFinished) != is_finished();
  }

  bool operator==(const JobBatchFields&) const = default;

 private:
  [[nodiscard]] static int shift_of(BatchRole role) {
    constexpr int kStateBits = 3;
    return kMarkBits + kStateBits * (static_cast<int>(role) - 1);
  }
};

/// A job that is pushed when its batch has come so far.
struct BatchCallback {
  std::uint32_t role = 0;  ///< a BatchRole
  std::string_view queue;
  std::string_view body;
  Pri pri = 0;
  std::uint32_t ttr_s = 1;
  std::uint32_t delay_s = 0;  ///< as it was asked for: shown, not used
  Time due{};                 ///< by the wall clock; the epoch: at once
  std::uint32_t jid_hash = 0;
  bool is_tracked = false;

  [[nodiscard]] BatchRole batch_role() const { return static_cast<BatchRole>(role); }
  bool operator==(const BatchCallback&) const = default;
};

/// A batch of jobs, as it is in memory. What never changes of it is kept as its record is stored:
/// it is seldom read.
struct JobBatch {
  JobBatchId id = 0;
  JobBatchId parent = 0;       ///< 0: none. It may be gone.
  std::uint64_t sequence = 0;  ///< its place in the order of creation
  JobBatchFields fields;
  std::unique_ptr<char[]> added;    ///< the record `JobBatchAdded`, encoded
  LogNode log;                      ///< where that record is
  Time alarm = kNever;              ///< its place in the order of deadlines or of finished batches
  std::uint32_t added_bytes = 0;    ///< of that record
  std::uint32_t changed_bytes = 0;  ///< of its record `JobBatchChanged`, as it was counted last
  bool is_alarm_of_open = false;    ///< in which of the two orders
  bool is_changed = false;          ///< since it was written last
  bool is_listed = false;           ///< among those that have work

  [[nodiscard]] std::string_view added_view() const { return {added.get(), added_bytes}; }
  /// What its records take in the log.
  [[nodiscard]] std::uint64_t record_bytes() const {
    return std::uint64_t{added_bytes} + changed_bytes;
  }
};

/// An open batch that nobody uses is dropped after so long; one that was committed before counts as
/// committed again.
inline constexpr Duration kOpenBatchLimit = 30min;

/// A finished batch is forgotten after so long, and beyond so many the one that finished first.
inline constexpr Duration kFinishedBatchLimit = 24h;
inline constexpr std::size_t kFinishedBatchesMax = 100'000;

inline constexpr std::size_t kBatchDescriptionBytesMax = 1024;
inline constexpr std::size_t kBatchCallbacksMax = 3;

}  // namespace millrace
