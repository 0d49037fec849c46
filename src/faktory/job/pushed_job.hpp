#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "access/users.hpp"
#include "base/result.hpp"
#include "core/broker/broker.hpp"
#include "core/model/long_body.hpp"
#include "core/model/wall_clock.hpp"
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
    kNotAllowed,       ///< the user has no right to; `detail` is the whole text
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

/// Of somebody who may not push there.
[[nodiscard]] RefusedJob refused_for(const access::Caller& caller, std::string_view queue);

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

/// What a job is made with, besides its JSON. Plain values, so that any thread can make one.
struct PushTerms {
  Time now{};  ///< when the push came
  WallClock clock = {};
  LockSecret secret{};
};

/// A job that was checked by the rules of PUSH, with all that belongs to it: it can be put later
/// than it was made, and by another thread.
class MadeJob {
 public:
  [[nodiscard]] static Result<MadeJob, RefusedJob> make(const JobMembers& members,
                                                        const PushTerms& terms);

  /// The same of a job for which it does not matter when it is pushed, nor by what secret locks are
  /// named: nearly all are such. nullopt: not for this one, or it is refused.
  [[nodiscard]] static std::optional<MadeJob> make_timeless(const JobMembers& members);
  /// That one is pushed now.
  void set_created_at(Time now) { job_.created_at = now; }

  /// Takes long, and spares the broker's thread as much: a long body is put where the job will have
  /// it. Once, when what it was read from is not needed any more.
  void prepare();

  /// For the broker, which takes a long body away. Its views are in here, until this is moved.
  [[nodiscard]] const NewJob& job();

  /// The memory that it takes.
  [[nodiscard]] std::size_t kept_bytes() const {
    return sizeof *this + queue_.size() + body_.size() + long_body_.memory_bytes();
  }

 private:
  NewJob job_;
  std::string queue_;
  std::string body_;    ///< unless it was prepared
  LongBody long_body_;  ///< then
};

/// A body longer than this is prepared.
inline constexpr std::size_t kMadeBodyBytes = std::size_t{1} << 20;

}  // namespace millrace::faktory
