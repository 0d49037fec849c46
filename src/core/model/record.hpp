#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

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
  /// Not stored: where the body is in the log, or in the batch that will be appended.
  Lsn body_at = 0;

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

/// The number of days that are remembered besides the present one.
inline constexpr std::size_t kHistoryDaysMax = 180;

using Record =
    std::variant<JobAdded, JobChanged, JobRemoved, QueueChanged, CountersChanged, HistoryChanged>;

}  // namespace millrace
