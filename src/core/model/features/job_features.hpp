#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/box.hpp"
#include "core/model/types.hpp"

namespace millrace {

/// The key of the hash that names locks (`LockKey`): drawn once for a log, and kept in it. Whoever
/// does not know it cannot choose arguments whose locks are one, and so hold up jobs of others.
struct LockSecret {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  bool operator==(const LockSecret&) const = default;
};

/// 128 bits of the hash by that key: a name for a lock, or for a push.
struct KeyedHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  auto operator<=>(const KeyedHash&) const = default;
};

/// The name of a lock: a hash of job type, arguments and queue, by the log's `LockSecret`. With a
/// hash that anybody can compute, one client could hold up the jobs of another.
using LockKey = KeyedHash;

/// The number of a batch of jobs, drawn at random. 0: none.
using JobBatchId = std::uint64_t;

/// What a job has to do with the batch that it names.
enum class BatchRole : std::uint8_t {
  kMember,    ///< or nothing, where no batch is named
  kComplete,  ///< it is the batch's callback: all members have run once
  kSuccess,   ///< all members have succeeded
  kDeath,     ///< a member has failed for good
};

/// What `JobFeatures::throttle_key` may have.
inline constexpr std::size_t kThrottleKeyBytesMax = 255;

inline constexpr std::uint32_t kBatchRoleMax = static_cast<std::uint32_t>(BatchRole::kDeath);

/// What a client asked for with a job besides its run. Most jobs have none of it. It never changes;
/// what does is in `JobMarks` and `JobHistory`. Times are those of the wall clock.
struct JobFeatures {
  LockKey lock_key;   ///< zero: no lock is wanted
  Time lock_ends{};   ///< of the lock that the push takes
  Time expires_at{};  ///< the epoch: never
  JobBatchId batch = 0;
  float lock_seconds = 0;  ///< how long a lock lasts that is taken anew
  /// Of its jid, where it is tracked: finds the job by its name, together with the body.
  std::uint32_t jid_hash : 24 = 0;
  std::uint32_t is_tracked : 1 = 0;
  std::uint32_t locks_until_start : 1 = 0;  ///< and not until it has ended
  std::uint32_t role : 2 = 0;               ///< a BatchRole
  Box<std::string> throttle_key;            ///< never empty text: whose job it is, see `Lines`

  [[nodiscard]] bool wants_lock() const { return lock_key != LockKey{}; }
  [[nodiscard]] bool expires() const { return expires_at != Time{}; }
  /// Empty: it has none.
  [[nodiscard]] std::string_view key() const {
    return throttle_key ? std::string_view(*throttle_key) : std::string_view();
  }
  [[nodiscard]] BatchRole batch_role() const { return static_cast<BatchRole>(role); }
  [[nodiscard]] bool is_member() const { return batch != 0 && batch_role() == BatchRole::kMember; }
  [[nodiscard]] bool is_callback() const { return batch != 0 && !is_member(); }

  bool operator==(const JobFeatures&) const = default;
};

// A million unique jobs may wait, and the allocator has this size.
static_assert(sizeof(JobFeatures) == 56);

/// What changes with a job that has features, and what few jobs have: bits of `JobFields::marks`.
namespace job_marks {
inline constexpr std::uint8_t kHoldsLock = 1;  ///< or lends it: `StoredJob::lends_lock`
inline constexpr std::uint8_t kHasRun = 2;     ///< once at least, to a good or a bad end
inline constexpr std::uint8_t kHasFailed = 4;  ///< and has not succeeded since
/// Runs of it did not end well, and `Jobs::attempts_of` knows them. Kept by `Jobs`.
inline constexpr std::uint8_t kHasAttempts = 8;
/// Of a running job: its worker had sent a BEAT when it took the job, so its silence after a
/// restart of the server means that it is lost.
inline constexpr std::uint8_t kHolderBeats = 16;
/// The log did not give its body, so the job is dead, or dies when its run has ended. It stays so
/// until the body can be read after all. Where its whole record is written once more, that has no
/// body.
inline constexpr std::uint8_t kBodyUnreadable = 32;
inline constexpr std::uint8_t kAll =
    kHoldsLock | kHasRun | kHasFailed | kHasAttempts | kHolderBeats | kBodyUnreadable;
}  // namespace job_marks

/// How a job that is removed has ended. Stored (`JobFinished`): a number keeps its meaning.
enum class JobEnd : std::uint8_t {
  kSucceeded,  ///< ACK, or deleted by the connection that held it
  kFailed,     ///< a failed run, and it wants no retry
  kGone,       ///< deleted, discarded, purged, removed with its queue
  kExpired,    ///< its time was over before a run began
  kFlushed,    ///< with everything else
};

}  // namespace millrace
