#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "core/broker/broker.hpp"
#include "faktory/features/lock_key.hpp"
#include "faktory/job/job_reader.hpp"

namespace millrace::faktory {

/// Why a job is refused. `reply::refusal` has the words; `detail` is what they quote.
struct RefusedJob {
  enum class Reason {
    kInvalidJson,
    kJidTooShort,
    kJidTooLong,
    kNoJobtype,
    kNoArgs,
    kReservedTooLong,
    kInvalidAt,
    kInvalidQueueName,
    kQueueNameTooLong,
    kInvalidUniqueFor,
    kInvalidUniqueUntil,
    kInvalidUniqueConflict,
    kUniqueArgsTooLong,
    kInvalidExpiresAt,
    kInvalidExpiresIn,
    kInvalidTrack,
    kInvalidThrottleKey,
    kThrottleKeyTooLong,
    kInvalidRetryDelays,
    kNoSuchBatch,
    kNoCallback,       ///< of a batch
    kCallbackInBatch,  ///< a callback that is to be a member
    kNotUnique,        ///< `detail`: the jid of the other job, where it was asked for
    kNoRoom,           ///< see Refusal::kNoRoom
  };
  Reason reason;
  std::string detail;

  /// A member of the job, or of its `custom`. No name: the job as a whole.
  struct Member {
    std::string_view name;
    bool is_in_custom = false;

    bool operator==(const Member&) const = default;
  };
  /// The member that is refused, by its name on the wire.
  [[nodiscard]] Member member() const;
};

/// How much of a wrong value a refusal quotes.
inline constexpr std::size_t kEchoedValueBytes = 256;

/// How many seconds a reservation lasts: at least, at most, and where `reserve_for` says nothing.
inline constexpr std::int64_t kReserveForMin = 60;
inline constexpr std::int64_t kReserveForMax = 86'400;
inline constexpr std::int64_t kReserveForDefault = 1'800;

/// The year 2200: later than any job is meant for, and so early that no step of the wall clock
/// takes it past what a Time holds.
inline constexpr Time kLatestDue{std::chrono::seconds{7'258'118'400}};

/// As `stats-job` shows a delay: rounded up, and within what fits.
[[nodiscard]] std::uint32_t whole_seconds(Duration duration);

inline constexpr std::size_t kJidBytesMin = 8;

/// Checks the job by the rules of PUSH, in the order of the reference, and appends its stored form
/// to `body`, which must be empty. `now` becomes its time of creation; its own times are those of
/// the wall clock. `secret` names its lock, if it wants one. The result points into `members` and
/// `body`.
[[nodiscard]] Result<NewJob, RefusedJob> make_pushed_job(const JobMembers& members, Time now,
                                                         WallClock clock,
                                                         const SecretOfLocks& secret,
                                                         std::string& body);

/// The same without a body.
[[nodiscard]] Result<NewJob, RefusedJob> make_bodiless_job(const JobMembers& members, Time now,
                                                           WallClock clock,
                                                           const SecretOfLocks& secret);

}  // namespace millrace::faktory
