#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/member_count.hpp"
#include "core/model/record.hpp"

/// The fields of everything that is stored, each named once, in the order of the grammar
/// (docs/journal-format.md). Encoding, counting and decoding visit these lists: so a field has the
/// same place, form and limit in all three. A list that lacks a member of its struct does not
/// compile. One that names a member twice instead of another compiles, and fails the round trip of
/// `tests/core/model/record_test`.
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

/// A member that the log does not keep.
struct NotStored {
  template <typename T>
  explicit NotStored(const T&) {}
};

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

/// Visits the fields, which must be all members of T.
template <typename T, typename Visit, typename... Fields>
void visit_all(Visit& visit, Fields&&... all) {
  static_assert((std::size_t{0} + ... + kMembersOf<std::remove_cvref_t<Fields>>) == kMemberCount<T>,
                "the list of fields and the members of the struct differ");
  (visit(all), ...);
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
                     List{failure.backtrace, kBacktraceLinesMax});
}

template <typename Visit>
void each_field(Of<Reservation> auto& held, Visit& visit) {
  visit_all<Reservation>(visit, NotStored(held.client), Text{held.wid, kWidBytesMax},
                         Text{held.jid, kJidBytesMax}, held.reserved_at);
}

/// The byte of the state: the state itself, and a bit for each part of the history that follows.
inline constexpr std::uint8_t kStateBits = 0x07;
inline constexpr std::uint8_t kTalliesBit = 0x08;
inline constexpr std::uint8_t kFailureBit = 0x10;
inline constexpr std::uint8_t kReservationBit = 0x20;
inline constexpr std::uint8_t kKnownBits = kStateBits | kTalliesBit | kFailureBit | kReservationBit;

/// Visits the parts of a job's history, each with its bit.
template <typename Visit>
void each_part(Of<JobHistory> auto& history, Visit visit) {
  static_assert(kMemberCount<JobHistory> == 3, "a part of the history is not in this list");
  visit(kTalliesBit, history.tallies);
  visit(kFailureBit, history.failure);
  visit(kReservationBit, history.reservation);
}

template <typename Visit>
void each_field(Of<JobFields> auto& job, Visit& visit) {
  visit_all<JobFields>(visit, StateByte{job}, job.pri, job.sequence, When{job}, job.enqueued_at,
                       job.delay_s, HistoryParts{job});
}

/// All of a whole job's record before the body, which ends it: so that a job in memory is stored
/// and counted without a record being made, and counted without its body.
template <typename Visit>
void each_field_before_body(auto& id, auto& queue, Of<StoredJob> auto& job, Visit& visit) {
  LikeConstOf<std::remove_reference_t<decltype(job)>, JobFields>& changing = job;
  visit(id);
  visit_all<StoredJob>(visit, job.kind, Between{Text{queue, kQueueNameBytesMax}}, job.created_at,
                       job.ttr_s, changing);
}

template <typename Visit>
void each_field(Of<JobAdded> auto& record, Visit& visit) {
  static_assert(kMemberCount<JobAdded> == 5, "id, queue and fields; body; body_at is not stored");
  each_field_before_body(record.id, record.queue, record.fields, visit);
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
void each_field(Of<HistoryChanged> auto& record, Visit& visit) {
  visit_all<HistoryChanged>(visit, List{record.days, kHistoryDaysMax});
}

}  // namespace millrace::fields
