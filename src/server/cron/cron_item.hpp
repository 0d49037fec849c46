#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text_map.hpp"
#include "cron/schedule.hpp"

namespace millrace::server {

/// What is done about runs that were missed, since the server was not running or its clock was set
/// forward.
enum class CatchUp {
  kOne,   ///< the newest one runs, if it is at most an hour late
  kNone,  ///< nothing
  kAll,   ///< all run, the newest `kCatchUpMax` at most
};

inline constexpr std::size_t kCatchUpMax = 1'000;

/// One `[[cron]]` of the config files, checked.
struct CronItem {
  std::string id;  ///< the name; of an entry without one, a digest of schedule and job
  bool is_named = false;
  std::string schedule_text;
  std::string time_zone;  ///< the member `timezone`; may be empty
  cron::Schedule schedule;
  CatchUp catch_up = CatchUp::kOne;
  bool is_enabled = true;
  Duration jitter{};          ///< a run is done up to so much later than it is planned
  std::uint64_t content = 0;  ///< differs when schedule, zone, job or `enabled` do
  /// The work unit in JSON without its jid: an object with at least one member.
  std::string job;
  // Of the job, for showing it.
  std::string jobtype;
  std::string queue;
  std::string args;    ///< JSON
  std::string custom;  ///< JSON; may be empty
  std::optional<std::int64_t> retry;
  std::optional<std::int64_t> reserve_for;
  std::string place;  ///< `FILE:LINE`
};

/// The entries of the config files, in their order, and where each is, by id.
struct CronTable {
  std::vector<CronItem> items;
  TextMap<std::size_t> places;
};

/// Shared: it passes from the thread that reads the files through the options to the runner, may be
/// large, and is never changed. Not null.
using SharedCronTable = std::shared_ptr<const CronTable>;

inline constexpr std::uint64_t kCronJitterSecondsMax = 3'600;

inline constexpr std::size_t kCronNameBytesMax = 255;

}  // namespace millrace::server
