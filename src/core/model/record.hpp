#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/model/features/attempt.hpp"
#include "core/model/features/change.hpp"
#include "core/model/features/cron_run.hpp"
#include "core/model/features/error_mark.hpp"
#include "core/model/features/job_batch.hpp"
#include "core/model/features/job_features.hpp"
#include "core/model/features/throttle_limits.hpp"
#include "core/model/features/token.hpp"
#include "core/model/features/track.hpp"
#include "core/model/job.hpp"
#include "core/model/types.hpp"

/// Everything that ever changes a job or a queue, as values that can be stored. Records are
/// absolute: each says how things are afterwards, so applying one twice, or writing a live one
/// again further on in the log, changes nothing.
///
/// A new kind of record needs a struct here with a tag of its own, its fields in
/// `core/model/fields.hpp`, and a kind of live thing that applies it (`core/state/live_kind.hpp`).
/// Nothing compiles while one of them is missing. Where a kind has a second record with whole
/// things, as opposed to changes of them, it must give that a place too.
namespace millrace {

/// A whole job. Its views must live until the record is applied and encoded.
struct JobAdded {
  static constexpr std::uint8_t kTag = 1;

  JobId id = 0;
  std::string_view queue;
  std::string_view body;
  StoredJob fields;
  Box<Attempts> attempts = {};  ///< set exactly where the fields have `job_marks::kHasAttempts`
  /// Not stored: where the body is in the log, or in the batch that will be appended.
  Lsn body_at = 0;
  /// Not stored: `WorkUnitFormat::name_hash` of the body, where it is known already; else 0.
  std::uint32_t name_hash = 0;

  bool operator==(const JobAdded&) const = default;
};

/// The parts of a job that change, all of them.
struct JobChanged {
  static constexpr std::uint8_t kTag = 2;

  JobId id = 0;
  JobFields fields;

  bool operator==(const JobChanged&) const = default;
};

struct JobRemoved {
  static constexpr std::uint8_t kTag = 3;

  JobId id = 0;

  bool operator==(const JobRemoved&) const = default;
};

/// A run of a job has ended, and not well. What it changes of the job besides is a record of its
/// own, which comes next: see `Attempts::add`.
struct AttemptEnded {
  static constexpr std::uint8_t kTag = 18;

  JobId id = 0;
  Box<Attempt> attempt;  ///< set; apart, since all records are as large as the largest kind

  bool operator==(const AttemptEnded&) const = default;
};

/// What is remembered of a queue besides its jobs.
struct QueueChanged {
  static constexpr std::uint8_t kTag = 4;

  std::string_view name;
  bool is_kept = false;       ///< stays when empty, since a producer pushed to it (FWP)
  Time paused_until{};        ///< hands out nothing before; kNever: until resumed
  std::uint32_t pause_s = 0;  ///< what the pause was asked to last; shown, not used

  bool operator==(const QueueChanged&) const = default;
};

/// Totals, as they are. `day` is days since 1970 in UTC.
struct CountersChanged {
  static constexpr std::uint8_t kTag = 5;

  JobId next_id = 1;  ///< every id and sequence below is spent
  std::uint64_t processed = 0;
  std::uint64_t failed = 0;
  std::int32_t day = 0;
  std::uint64_t processed_today = 0;
  std::uint64_t failed_today = 0;

  bool operator==(const CountersChanged&) const = default;
};

/// How many runs ended on a day, which is days since 1970 in UTC.
struct DayCounts {
  std::int32_t day = 0;
  std::uint64_t processed = 0;  ///< failed ones included
  std::uint64_t failed = 0;

  bool operator==(const DayCounts&) const = default;
};

/// The days that are over, oldest first. Written when a day has ended, with all that are
/// remembered, so that the last such record is all that must be kept.
struct HistoryChanged {
  static constexpr std::uint8_t kTag = 6;

  std::vector<DayCounts> days;

  bool operator==(const HistoryChanged&) const = default;
};

/// What is known of a job by its name.
struct TrackChanged {
  static constexpr std::uint8_t kTag = 10;

  std::string_view jid;
  std::string_view desc;
  Time updated_at{};
  std::uint8_t percent = kNoPercent;
  TrackEnd end = TrackEnd::kNone;

  bool operator==(const TrackChanged&) const = default;
};

struct TrackRemoved {
  static constexpr std::uint8_t kTag = 11;

  std::string_view jid;

  bool operator==(const TrackRemoved&) const = default;
};

/// The number of days that are remembered besides the present one.
inline constexpr std::size_t kHistoryDaysMax = 180;

/// All that is stored of a queue's limits: those that an operator set, and the rate's bucket.
struct ThrottleChanged {
  static constexpr std::uint8_t kTag = 14;

  std::string_view queue;
  bool is_by_hand = false;  ///< `limits` win over those of the configuration
  ThrottleLimits limits;
  Time full_at{};  ///< see `TokenBucket`

  bool operator==(const ThrottleChanged&) const = default;
};

/// Nothing is stored of the queue's limits any more.
struct ThrottleRemoved {
  static constexpr std::uint8_t kTag = 15;

  std::string_view queue;

  bool operator==(const ThrottleRemoved&) const = default;
};

/// What is remembered of a cron entry. What it is to do is in the config files. Times are those of
/// the wall clock.
struct CronChanged {
  static constexpr std::uint8_t kTag = 12;

  std::string_view id;
  std::uint64_t content = 0;  ///< differs when the entry was changed
  Time planned{};             ///< no run planned for then or earlier will be done
  bool is_paused = false;
  Time gone_since{};          ///< since when no config file has it; the epoch: one has
  std::vector<CronRun> runs;  ///< the last ones, oldest first

  bool operator==(const CronChanged&) const = default;
};

struct CronRemoved {
  static constexpr std::uint8_t kTag = 13;

  std::string_view id;

  bool operator==(const CronRemoved&) const = default;
};

/// What never changes of a batch of jobs. Its views must live until the record is applied and
/// encoded.
struct JobBatchAdded {
  // The tag 7 is that of a shared log's heads.
  static constexpr std::uint8_t kTag = 16;

  JobBatchId id = 0;
  std::uint64_t sequence = 0;
  JobBatchId parent = 0;  ///< 0: none
  Time created_at{};
  std::string_view description;
  std::vector<BatchCallback> callbacks;

  bool operator==(const JobBatchAdded&) const = default;
};

/// What changes of a batch, all of it.
struct JobBatchChanged {
  static constexpr std::uint8_t kTag = 8;

  JobBatchId id = 0;
  JobBatchFields fields;

  bool operator==(const JobBatchChanged&) const = default;
};

struct JobBatchRemoved {
  static constexpr std::uint8_t kTag = 9;

  JobBatchId id = 0;

  bool operator==(const JobBatchRemoved&) const = default;
};

/// The secret that names locks. Recorded before the first job with a lock.
struct LockSecretDrawn {
  static constexpr std::uint8_t kTag = 17;

  LockSecret secret;

  bool operator==(const LockSecretDrawn&) const = default;
};

/// What the wall clock showed when the batch with this record was appended: so that a restore can
/// stop at a time. It changes nothing, and none is ever needed again.
struct ClockRead {
  static constexpr std::uint8_t kTag = 19;

  Time at{};

  bool operator==(const ClockRead&) const = default;
};

/// The name of a push: of all by which one that is sent again is known. With a hash that anybody
/// can compute, one client could make the server drop the jobs of another.
using PushKey = KeyedHash;

/// The job of a push has ended, and the push is remembered.
struct PushEnded {
  static constexpr std::uint8_t kTag = 20;

  PushKey key;
  JobId job = 0;
  Time ended_at{};

  bool operator==(const PushEnded&) const = default;
};

struct PushForgotten {
  static constexpr std::uint8_t kTag = 21;

  PushKey key;

  bool operator==(const PushForgotten&) const = default;
};

/// What is remembered of a job that has ended. Its views must live until the record is applied and
/// encoded.
struct JobFinished {
  static constexpr std::uint8_t kTag = 22;
  /// They are counted up, one for each job that ends.
  static constexpr std::uint64_t kNumberMax = std::uint64_t{1} << 62;
  static constexpr std::size_t kNameBytesMax = 600;
  static constexpr std::size_t kArgsBytesMax = 1024;

  std::uint64_t number = 0;  ///< from 1: the order of their ends
  JobId id = 0;
  JobKind kind = JobKind::kBytes;
  JobEnd how = JobEnd::kGone;
  std::uint32_t reserves = 0;  ///< how often it was reserved
  ClientId client = 0;         ///< the connection that held it at its end; 0: none did
  Time created_at{};
  Time enqueued_at{};
  Time began_at{};  ///< of its last run, if it ended in one; else the epoch
  Time ended_at{};
  std::string_view queue;
  std::string_view wid;   ///< of the worker that held it at its end, or empty
  std::string_view name;  ///< `WorkUnitFormat::name_part`, or empty
  std::string_view jid;   ///< by which its worker knew it, where `name` is empty
  /// The runs before the last one, and that one too if it failed; empty: none is known. They have
  /// no backtraces.
  Box<Attempts> attempts = {};
  /// Of a job that failed for good, as `WorkUnitFormat::Summary` has them. Longer ones are cut, and
  /// end in `…`. Null: it did not, or its body was in the log only.
  Box<std::string> args = {};

  bool operator==(const JobFinished&) const = default;
};

/// All that people have said of an error.
struct ErrorMarked {
  static constexpr std::uint8_t kTag = 23;

  std::uint64_t group = 0;  ///< `failure_group_number`
  ErrorMark mark;

  bool operator==(const ErrorMarked&) const = default;
};

/// Nothing is said of the error any more.
struct ErrorUnmarked {
  static constexpr std::uint8_t kTag = 24;

  std::uint64_t group = 0;

  bool operator==(const ErrorUnmarked&) const = default;
};

/// What is known of a change by now. When it turns out to how many jobs it was made, it is recorded
/// once more.
struct ChangeNoted {
  static constexpr std::uint8_t kTag = 25;
  static constexpr std::uint64_t kNumberMax = std::uint64_t{1} << 62;

  std::uint64_t number = 0;  ///< from 1: their order
  Box<Change> change;        ///< set; apart, since all records are as large as the largest kind

  bool operator==(const ChangeNoted&) const = default;
};

/// A search of jobs that people share, by its name.
struct ViewSaved {
  static constexpr std::uint8_t kTag = 26;
  static constexpr std::size_t kNameBytesMax = 64;
  static constexpr std::size_t kQueryBytesMax = 1000;

  std::string name;
  std::string query;  ///< as people write it, UTF-8; empty: the view is gone

  bool operator==(const ViewSaved&) const = default;
};

/// A token, whole.
struct TokenAdded {
  static constexpr std::uint8_t kTag = 28;

  Box<Token> token;  ///< set; apart, since all records are as large as the largest kind

  bool operator==(const TokenAdded&) const = default;
};

struct TokenRemoved {
  static constexpr std::uint8_t kTag = 29;

  std::string_view hash;

  bool operator==(const TokenRemoved&) const = default;
};

using Record =
    std::variant<JobAdded, JobChanged, JobRemoved, QueueChanged, CountersChanged, HistoryChanged,
                 JobBatchAdded, JobBatchChanged, JobBatchRemoved, TrackChanged, TrackRemoved,
                 CronChanged, CronRemoved, ThrottleChanged, ThrottleRemoved, LockSecretDrawn,
                 AttemptEnded, ClockRead, PushEnded, PushForgotten, JobFinished, ErrorMarked,
                 ErrorUnmarked, ChangeNoted, ViewSaved, TokenAdded, TokenRemoved>;

template <typename Kind, typename OfRecord = Record>
inline constexpr bool kIsRecordKind = false;
template <typename Kind, typename... Kinds>
inline constexpr bool kIsRecordKind<Kind, std::variant<Kinds...>> = (std::is_same_v<Kind, Kinds> ||
                                                                     ...);

/// One of the kinds of `Record`.
template <typename Kind>
concept RecordKind = kIsRecordKind<Kind>;

}  // namespace millrace
