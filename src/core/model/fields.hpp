#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "base/member_count.hpp"
#include "core/model/record.hpp"

/// The fields of everything that is stored, each named once, in the order of the grammar
/// (docs/internals/journal-format.md). Encoding, counting and decoding visit these lists: so a
/// field has the same place, form and limit in all three. A list that lacks a member of its struct
/// does not compile. One that names a member twice instead of another compiles, and fails the round
/// trip of `tests/core/model/record_test`.
///
/// What a field's type does not say is said by a wrapper. The values are const when they are
/// written.
namespace millrace::fields {

/// T, or a const T.
template <typename Value, typename T>
concept Of = std::same_as<std::remove_const_t<Value>, T>;

template <typename Value, typename T>
using LikeConstOf = std::conditional_t<std::is_const_v<Value>, const T, T>;

/// A string or a view of one, at most so long where it is read.
template <typename String>
struct Text {
  String& value;
  std::size_t bytes_max;
};
// The guides here and below are for clang 14, which deduces none for aggregates.
template <typename String>
Text(String&, std::size_t) -> Text<String>;

/// Elements, at most so many where they are read.
template <typename Vector>
struct List {
  Vector& elements;
  std::size_t count_max;
};
template <typename Vector>
List(Vector&, std::size_t) -> List<Vector>;

/// A number or an enumerator of one byte, at most that one where it is read.
template <typename Value>
struct Byte {
  Value& value;
  std::remove_const_t<Value> max;
};
template <typename Value>
Byte(Value&, std::remove_const_t<Value>) -> Byte<Value>;

/// Of a `ByteAndBit` that announces one part only.
struct NoPart {
  explicit operator bool() const { return false; }
};
inline constexpr NoPart kNoPart;

/// A flag or an enumerator, at most `max` where it is read, with the bit above it: that says
/// whether `part` is there, which follows as `Announced`. Where there is `other`, the next bit says
/// the same of that, which follows with `kOtherBit`.
template <typename Value, typename Part, typename Other = NoPart>
struct ByteAndBit {
  Value& value;
  std::remove_const_t<Value> max;
  const Part& part;
  const Other& other = kNoPart;
};
template <typename Value, typename Part>
ByteAndBit(Value&, std::remove_const_t<Value>, const Part&) -> ByteAndBit<Value, Part>;
template <typename Value, typename Part, typename Other>
ByteAndBit(Value&, std::remove_const_t<Value>, const Part&, const Other&)
    -> ByteAndBit<Value, Part, Other>;
inline constexpr std::uint8_t kAnnouncedBit = 0x02;
inline constexpr std::uint8_t kOtherBit = 0x04;

template <typename Part>
struct Announced {
  Part& part;
  std::uint8_t bit = kAnnouncedBit;
};
template <typename Part>
Announced(Part&) -> Announced<Part>;
template <typename Part>
Announced(Part&, std::uint8_t) -> Announced<Part>;

/// A member that the log does not keep.
struct NotStored {
  template <typename T>
  explicit NotStored(const T&) {}
};

/// A value whose bits are random or many: its bytes as they are, the low ones first.
template <typename Value>
struct Word {
  Value& value;
};
template <typename Value>
Word(Value&) -> Word<Value>;

/// A value that is stored between the members of a struct and is none of them.
template <typename Field>
struct Between {
  Field field;
};
template <typename Field>
Between(Field) -> Between<Field>;

/// One byte: a job's state, and which parts of its history follow.
template <typename Fields>
struct StateByte {
  Fields& job;
};
template <typename Fields>
StateByte(Fields&) -> StateByte<Fields>;

/// `JobFields::when`. A job that a connection holds is stored as ready, and then it is not used.
template <typename Fields>
struct When {
  Fields& job;
};
template <typename Fields>
When(Fields&) -> When<Fields>;

/// `JobFields::marks`, where the byte of the state has announced them.
template <typename Fields>
struct Marks {
  Fields& job;
};
template <typename Fields>
Marks(Fields&) -> Marks<Fields>;

/// `StoredJob::kind`, with a bit that says whether features follow; and these.
template <typename Stored>
struct KindByte {
  Stored& job;
};
template <typename Stored>
KindByte(Stored&) -> KindByte<Stored>;
template <typename Stored>
struct Features {
  Stored& job;
};
template <typename Stored>
Features(Stored&) -> Features<Stored>;

/// `JobFields::history`: the parts that the byte of the state has announced.
template <typename Fields>
struct HistoryParts {
  Fields& job;
};
template <typename Fields>
HistoryParts(Fields&) -> HistoryParts<Fields>;

template <typename Field>
inline constexpr std::size_t kMembersOf = 1;
template <typename Field>
inline constexpr std::size_t kMembersOf<Between<Field>> = 0;

/// `JobAdded::attempts`, where the marks have announced them.
template <typename Fields, typename Value>
struct AttemptsPart {
  const Fields& job;
  Value& attempts;
};
template <typename Fields, typename Value>
AttemptsPart(const Fields&, Value&) -> AttemptsPart<Fields, Value>;

/// Visits the fields, which must be all members of T.
template <typename T, typename Visit, typename... Fields>
void visit_all(Visit& visit, Fields&&... all) {
  static_assert((std::size_t{0} + ... + kMembersOf<std::remove_cvref_t<Fields>>) == kMemberCount<T>,
                "the list of fields and the members of the struct differ");
  (visit(all), ...);
}

/// The bit-fields of JobFeatures.
template <typename Owner>
struct FeatureBits {
  Owner& features;
};
template <typename Owner>
FeatureBits(Owner&) -> FeatureBits<Owner>;
template <typename Owner>
inline constexpr std::size_t kMembersOf<FeatureBits<Owner>> = 4;

/// A member of JobFeatures that is stored only where `bit` is among the `FeatureBits`.
template <typename Owner, typename Value>
struct FeaturePart {
  Owner& features;
  std::uint32_t bit;
  Value value;  ///< a reference, or how a member is stored
};
template <typename Owner, typename Value>
FeaturePart(Owner&, std::uint32_t, Value&&) -> FeaturePart<Owner, Value>;

/// A text that is there where its bit is, and then not empty.
template <typename Text>
struct BoxedText {
  Text& value;
  std::size_t bytes_max;
};
template <typename Text>
BoxedText(Text&, std::size_t) -> BoxedText<Text>;

/// The number of the bit-fields, and a bit for each feature whose members follow.
inline constexpr int kTrackedShift = 24;
inline constexpr int kUntilStartShift = 25;
inline constexpr int kRoleShift = 26;
inline constexpr std::uint32_t kJidHashBits = (1u << kTrackedShift) - 1;
inline constexpr std::uint32_t kLockBit = 1u << 28;
inline constexpr std::uint32_t kExpiresBit = 1u << 29;
inline constexpr std::uint32_t kBatchBit = 1u << 30;
inline constexpr std::uint32_t kKeyBit = 1u << 31;

[[nodiscard]] inline std::uint32_t packed(const JobFeatures& features) {
  return features.jid_hash | features.is_tracked << kTrackedShift |
         features.locks_until_start << kUntilStartShift | features.role << kRoleShift |
         (features.wants_lock() ? kLockBit : 0) | (features.expires() ? kExpiresBit : 0) |
         (features.batch != 0 ? kBatchBit : 0) | (features.throttle_key ? kKeyBit : 0);
}
inline void unpack(std::uint32_t bits, JobFeatures& features) {
  features.jid_hash = bits & kJidHashBits;
  features.is_tracked = bits >> kTrackedShift & 1;
  features.locks_until_start = bits >> kUntilStartShift & 1;
  features.role = bits >> kRoleShift & 3;
}

template <typename Visit>
void each_field(Of<KeyedHash> auto& hash, Visit& visit) {
  visit_all<KeyedHash>(visit, Word{hash.high}, Word{hash.low});
}

template <typename Visit>
void each_field(Of<JobFeatures> auto& features, Visit& visit) {
  visit_all<JobFeatures>(
      visit, FeatureBits{features}, FeaturePart{features, kLockBit, features.lock_key},
      FeaturePart{features, kLockBit, Word{features.lock_ends}},
      FeaturePart{features, kLockBit, Word{features.lock_seconds}},
      FeaturePart{features, kExpiresBit, features.expires_at},
      FeaturePart{features, kBatchBit, Word{features.batch}},
      FeaturePart{features, kKeyBit, BoxedText{features.throttle_key, kThrottleKeyBytesMax}});
}

template <typename Visit>
void each_field(Of<Tallies> auto& tallies, Visit& visit) {
  visit_all<Tallies>(visit, tallies.reserves, tallies.timeouts, tallies.releases, tallies.buries,
                     tallies.kicks);
}

template <typename Visit>
void each_field(Of<Failure> auto& failure, Visit& visit) {
  visit_all<Failure>(visit, failure.retry_count, failure.remaining, failure.failed_at,
                     failure.next_at, Text{failure.errtype, kBodyBytesMax},
                     Text{failure.message, kBodyBytesMax},
                     List{failure.backtrace, kBacktraceLinesMax}, NotStored(failure.group));
}

template <typename Visit>
void each_field(Of<Attempt> auto& attempt, Visit& visit) {
  visit_all<Attempt>(visit, attempt.number, attempt.began, attempt.ended,
                     Byte{attempt.end, kAttemptEndMax}, attempt.has_failure,
                     Text{attempt.wid, kAttemptNameBytesMax},
                     Text{attempt.hostname, kAttemptNameBytesMax}, attempt.pid, attempt.connection,
                     Text{attempt.errtype, kBodyBytesMax}, Text{attempt.message, kBodyBytesMax},
                     List{attempt.backtrace, kBacktraceLinesMax});
}

template <typename Visit>
void each_field(Of<Attempts> auto& attempts, Visit& visit) {
  visit_all<Attempts>(visit, List{attempts.list, Attempts::kCountMax});
}

template <typename Visit>
void each_field(Of<Reservation> auto& held, Visit& visit) {
  visit_all<Reservation>(visit, NotStored(held.client), NotStored(held.consumer),
                         Text{held.wid, kWidBytesMax}, Text{held.jid, kJidBytesMax},
                         held.reserved_at);
}

/// The byte of the state: the state itself, and a bit for the marks and for each part of the
/// history that follows.
inline constexpr std::uint8_t kStateBits = 0x07;
inline constexpr std::uint8_t kTalliesBit = 0x08;
inline constexpr std::uint8_t kFailureBit = 0x10;
inline constexpr std::uint8_t kReservationBit = 0x20;
inline constexpr std::uint8_t kLockEndsBit = 0x40;
inline constexpr std::uint8_t kMarksBit = 0x80;
static_assert((kStateBits | kTalliesBit | kFailureBit | kReservationBit | kLockEndsBit |
               kMarksBit) == 0xff);

/// The byte of the kind, where features follow.
inline constexpr std::uint8_t kFeaturesBit = 0x80;

/// Visits the parts of a job's history, each with its bit. Inlined: each record of a job passes.
template <typename Visit>
[[gnu::always_inline]] inline void each_part(Of<JobHistory> auto& history, Visit visit) {
  static_assert(kMemberCount<JobHistory> == 4, "a part of the history is not in this list");
  visit(kTalliesBit, history.tallies);
  visit(kFailureBit, history.failure);
  visit(kReservationBit, history.reservation);
  visit(kLockEndsBit, history.lock_ends);
}

template <typename Visit>
void each_field(Of<JobFields> auto& job, Visit& visit) {
  visit_all<JobFields>(visit, StateByte{job}, job.pri, job.sequence, When{job}, job.enqueued_at,
                       job.delay_s, Marks{job}, HistoryParts{job});
}

/// All of a whole job's record before the body, which ends it: so that a job in memory is stored
/// and counted without a record being made, and counted without its body.
template <typename Visit>
void each_field_before_body(auto& id, auto& queue, Of<StoredJob> auto& job, Visit& visit) {
  LikeConstOf<std::remove_reference_t<decltype(job)>, JobFields>& changing = job;
  visit(id);
  visit_all<StoredJob>(visit, KindByte{job}, Between{Text{queue, kQueueNameBytesMax}},
                       job.created_at, job.ttr_s, Features{job}, changing);
}

template <typename Visit>
void each_field(Of<JobAdded> auto& record, Visit& visit) {
  static_assert(kMemberCount<JobAdded> == 7,
                "id, queue and fields; attempts; body; body_at and name_hash are not stored");
  each_field_before_body(record.id, record.queue, record.fields, visit);
  visit(AttemptsPart{record.fields, record.attempts});
  visit(Text{record.body, kBodyBytesMax});
}

template <typename Visit>
void each_field(Of<JobChanged> auto& record, Visit& visit) {
  visit_all<JobChanged>(visit, record.id, record.fields);
}

template <typename Visit>
void each_field(Of<JobRemoved> auto& record, Visit& visit) {
  visit_all<JobRemoved>(visit, record.id);
}

template <typename Visit>
void each_field(Of<AttemptEnded> auto& record, Visit& visit) {
  visit_all<AttemptEnded>(visit, record.id, record.attempt);
}

template <typename Visit>
void each_field(Of<QueueChanged> auto& record, Visit& visit) {
  visit_all<QueueChanged>(visit, Text{record.name, kQueueNameBytesMax}, record.is_kept,
                          record.paused_until, record.pause_s);
}

template <typename Visit>
void each_field(Of<CountersChanged> auto& record, Visit& visit) {
  visit_all<CountersChanged>(visit, record.next_id, record.processed, record.failed, record.day,
                             record.processed_today, record.failed_today);
}

template <typename Visit>
void each_field(Of<DayCounts> auto& day, Visit& visit) {
  visit_all<DayCounts>(visit, day.day, day.processed, day.failed);
}

template <typename Visit>
void each_field(Of<ClockRead> auto& record, Visit& visit) {
  visit_all<ClockRead>(visit, record.at);
}

template <typename Visit>
void each_field(Of<PushEnded> auto& record, Visit& visit) {
  visit_all<PushEnded>(visit, record.key, record.job, record.ended_at);
}

template <typename Visit>
void each_field(Of<PushForgotten> auto& record, Visit& visit) {
  visit_all<PushForgotten>(visit, record.key);
}

template <typename Visit>
void each_field(Of<JobFinished> auto& record, Visit& visit) {
  visit_all<JobFinished>(visit, record.number, record.id,
                         ByteAndBit{record.kind, JobKind::kWorkUnit, record.attempts, record.args},
                         Byte{record.how, JobEnd::kExpired}, record.reserves, record.client,
                         record.created_at, record.enqueued_at, record.began_at, record.ended_at,
                         Text{record.queue, kQueueNameBytesMax}, Text{record.wid, kWidBytesMax},
                         Text{record.name, JobFinished::kNameBytesMax},
                         Text{record.jid, kJidBytesMax}, Announced{record.attempts},
                         Announced{record.args, kOtherBit});
}

template <typename Visit>
void each_field(Of<LockSecretDrawn> auto& record, Visit& visit) {
  visit_all<LockSecretDrawn>(visit, record.secret);
}

template <typename Visit>
void each_field(Of<LockSecret> auto& secret, Visit& visit) {
  visit_all<LockSecret>(visit, Word{secret.low}, Word{secret.high});
}

template <typename Visit>
void each_field(Of<HistoryChanged> auto& record, Visit& visit) {
  visit_all<HistoryChanged>(visit, List{record.days, kHistoryDaysMax});
}

template <typename Visit>
void each_field(Of<ThrottleLimits> auto& limits, Visit& visit) {
  // What limits keys is in the record that has the limits.
  visit_all<ThrottleLimits>(visit, limits.concurrency, limits.worker, limits.timeout_s,
                            limits.rate_count, limits.rate_s, NotStored(limits.per_key));
}

template <typename Visit>
void each_field(Of<ThrottleChanged> auto& record, Visit& visit) {
  visit_all<ThrottleChanged>(visit, Text{record.queue, kQueueNameBytesMax},
                             ByteAndBit{record.is_by_hand, true, record.limits.per_key},
                             record.limits, record.full_at,
                             Between{Announced{record.limits.per_key}});
}

template <typename Visit>
void each_field(Of<ThrottleRemoved> auto& record, Visit& visit) {
  visit_all<ThrottleRemoved>(visit, Text{record.queue, kQueueNameBytesMax});
}

template <typename Visit>
void each_field(Of<CronRun> auto& run, Visit& visit) {
  visit_all<CronRun>(visit, run.planned, run.at, run.job, Text{run.jid, kJidBytesMax},
                     Text{run.problem, kCronProblemBytesMax},
                     ByteAndBit{run.is_by_hand, true, run.end}, Announced{run.end});
}

template <typename Visit>
void each_field(Of<CronRunEnd> auto& end, Visit& visit) {
  visit_all<CronRunEnd>(visit, Byte{end.how, JobEnd::kExpired}, end.began_at, end.ended_at);
}

template <typename Visit>
void each_field(Of<CronChanged> auto& record, Visit& visit) {
  visit_all<CronChanged>(visit, Text{record.id, kCronIdBytesMax}, record.content, record.planned,
                         record.is_paused, record.gone_since, List{record.runs, kCronRunsMax});
}

template <typename Visit>
void each_field(Of<CronRemoved> auto& record, Visit& visit) {
  visit_all<CronRemoved>(visit, Text{record.id, kCronIdBytesMax});
}

template <typename Visit>
void each_field(Of<ErrorMark> auto& mark, Visit& visit) {
  visit_all<ErrorMark>(visit, mark.muted_until, mark.muted_below,
                       Text{mark.note, kErrorNoteBytesMax}, mark.noted_at);
}

template <typename Visit>
void each_field(Of<ErrorMarked> auto& record, Visit& visit) {
  visit_all<ErrorMarked>(visit, Word{record.group}, record.mark);
}

template <typename Visit>
void each_field(Of<ErrorUnmarked> auto& record, Visit& visit) {
  visit_all<ErrorUnmarked>(visit, Word{record.group});
}

template <typename Visit>
void each_field(Of<ViewSaved> auto& record, Visit& visit) {
  visit_all<ViewSaved>(visit, Text{record.name, ViewSaved::kNameBytesMax},
                       Text{record.query, ViewSaved::kQueryBytesMax});
}

template <typename Visit>
void each_field(Of<Change> auto& change, Visit& visit) {
  const auto text = [](auto& value) { return Text{value, kChangeTextBytesMax}; };
  visit_all<Change>(visit, change.at, text(change.protocol), text(change.from), text(change.user),
                    text(change.how), text(change.client), text(change.action), text(change.target),
                    text(change.details), text(change.page),
                    Byte{change.outcome, ChangeOutcome::kRefused}, change.count);
}

template <typename Visit>
void each_field(Of<ChangeNoted> auto& record, Visit& visit) {
  visit_all<ChangeNoted>(visit, record.number, record.change);
}

template <typename Visit>
void each_field(Of<Token> auto& token, Visit& visit) {
  visit_all<Token>(visit, Text{token.hash, kTokenHashBytes}, Text{token.name, kTokenNameBytesMax},
                   Text{token.user, kTokenTextBytesMax}, Byte{token.may, 0xff},
                   List{token.queues, kTokenQueuesMax}, token.made_at, token.expires_at);
}

template <typename Visit>
void each_field(Of<TokenAdded> auto& record, Visit& visit) {
  visit_all<TokenAdded>(visit, record.token);
}

template <typename Visit>
void each_field(Of<TokenRemoved> auto& record, Visit& visit) {
  visit_all<TokenRemoved>(visit, Text{record.hash, kTokenHashBytes});
}

template <typename Visit>
void each_field(Of<TrackChanged> auto& record, Visit& visit) {
  visit_all<TrackChanged>(visit, Text{record.jid, kJidBytesMax}, Byte{record.percent, kNoPercent},
                          Text{record.desc, kTrackDescBytesMax}, record.updated_at,
                          Byte{record.end, TrackEnd::kUnknown});
}

template <typename Visit>
void each_field(Of<TrackRemoved> auto& record, Visit& visit) {
  visit_all<TrackRemoved>(visit, Text{record.jid, kJidBytesMax});
}

template <typename Visit>
void each_field(Of<BatchCallback> auto& callback, Visit& visit) {
  visit_all<BatchCallback>(visit, Byte{callback.role, kBatchRoleMax},
                           Text{callback.queue, kQueueNameBytesMax},
                           Text{callback.body, kBodyBytesMax}, callback.pri, callback.ttr_s,
                           callback.delay_s, callback.due, callback.jid_hash, callback.is_tracked);
}

template <typename Visit>
void each_field(Of<JobBatchAdded> auto& record, Visit& visit) {
  visit_all<JobBatchAdded>(visit, record.id, record.sequence, record.parent, record.created_at,
                           Text{record.description, kBatchDescriptionBytesMax},
                           List{record.callbacks, kBatchCallbacksMax});
}

template <typename Visit>
void each_field(Of<JobBatchFields> auto& batch, Visit& visit) {
  visit_all<JobBatchFields>(visit, batch.total, batch.pending, batch.failing, batch.unexecuted,
                            batch.lost, batch.children, batch.unsettled, batch.unsuccessful,
                            batch.complete_job, batch.success_job, batch.death_job, batch.since,
                            batch.states);
}

template <typename Visit>
void each_field(Of<JobBatchChanged> auto& record, Visit& visit) {
  visit_all<JobBatchChanged>(visit, record.id, record.fields);
}

template <typename Visit>
void each_field(Of<JobBatchRemoved> auto& record, Visit& visit) {
  visit_all<JobBatchRemoved>(visit, record.id);
}

}  // namespace millrace::fields
