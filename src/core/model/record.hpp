#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "core/model/job.hpp"
#include "core/model/types.hpp"

/// Everything that ever changes a job or a queue, as values that can be stored. Records are
/// absolute: each says how things are afterwards, so applying one twice, or writing a live one
/// again further on in the log, changes nothing.
namespace millrace {

/// The parts of a job that change during its life.
struct JobFields {
  JobState state = JobState::kReady;
  Pri pri = 0;
  Sequence sequence = 0;
  Time when{};
  Time enqueued_at{};
  std::uint32_t delay_s = 0;
  Tallies tallies;
  std::optional<Failure> failure;
  std::optional<Reservation> reservation;  ///< set exactly when `state` is kReserved

  bool operator==(const JobFields&) const = default;
};

/// A whole job. Its views must live until the record is applied and encoded.
struct JobAdded {
  JobId id = 0;
  JobKind kind = JobKind::kBytes;
  std::string_view queue;
  Time created_at{};
  std::uint32_t ttr_s = 1;
  std::string_view body;
  JobFields fields;
  /// Not stored: where the body stands in the log, or in the batch that is to go there.
  Lsn body_at = 0;

  bool operator==(const JobAdded&) const = default;
};

struct JobChanged {
  JobId id = 0;
  JobFields fields;

  bool operator==(const JobChanged&) const = default;
};

struct JobRemoved {
  JobId id = 0;

  bool operator==(const JobRemoved&) const = default;
};

/// What is remembered of a queue beside its jobs.
struct QueueChanged {
  std::string_view name;
  bool is_kept = false;       ///< stays when empty, since a producer pushed to it (FWP)
  Time paused_until{};        ///< hands out nothing before; kNever: until resumed
  std::uint32_t pause_s = 0;  ///< what the pause was asked to last; shown, not used

  bool operator==(const QueueChanged&) const = default;
};

/// Totals, as they stand. `day` is days since 1970 in UTC.
struct CountersChanged {
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
  std::vector<DayCounts> days;

  bool operator==(const HistoryChanged&) const = default;
};

/// So many days are remembered beside the present one.
inline constexpr std::size_t kHistoryDaysMax = 180;

using Record =
    std::variant<JobAdded, JobChanged, JobRemoved, QueueChanged, CountersChanged, HistoryChanged>;

/// Appends the record's bytes (grammar: docs/journal-format.md). A reservation held by a connection
/// must not be encoded: it does not outlive the process.
void encode(const Record& record, std::string& out);

/// Takes one record off the front of `bytes`; its views point into them.
[[nodiscard]] Outcome<Record> decode(std::string_view& bytes);

}  // namespace millrace
