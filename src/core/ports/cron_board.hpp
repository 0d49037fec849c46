#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/model/features/cron_run.hpp"
#include "core/model/refusal.hpp"
#include "core/model/types.hpp"
#include "core/ports/push_in_parts.hpp"

namespace millrace {

/// The cron entries of the config files, for operators. The broker's thread only. Times in entries
/// are those of the wall clock.
class CronBoard {
 public:
  struct Entry {
    std::string id;         ///< the name; of an entry without one, a digest
    bool is_named = false;  ///< it has a name
    std::string schedule;   ///< as it is written
    std::string words;      ///< the same in words, with its zone; empty: it has no short ones
    std::string time_zone;  ///< in which its hours are meant: `UTC`
    std::string catch_up;   ///< `one`, `none` or `all`
    std::string jobtype;
    std::string queue;
    std::string args;                   ///< JSON
    std::string custom;                 ///< JSON; empty: none
    std::optional<std::int64_t> retry;  ///< as it is written; nullopt: it is not
    std::optional<std::int64_t> reserve_for;
    std::chrono::seconds jitter{};
    bool is_enabled = true;
    bool is_paused = false;
    std::vector<Time> next;  ///< runs, at most `kCronNextRuns`; none while disabled or paused
    /// Local time less UTC in the entry's time zone, at each of `next`.
    std::vector<std::chrono::seconds> next_offsets;
    std::vector<CronRun> runs;  ///< the last ones, oldest first
  };

  virtual ~CronBoard() = default;

  [[nodiscard]] virtual std::size_t count() const = 0;

  /// Up to `limit` entries in the order of the config files, from place `begin` on.
  [[nodiscard]] virtual std::vector<Entry> page(std::size_t begin, std::size_t limit) const = 0;

  /// Nullopt: there is no such entry.
  [[nodiscard]] virtual std::optional<Entry> find(std::string_view id) const = 0;

  /// Pushes the entry's job at once, whether it is paused or not; the plan stays as it is. Answers
  /// the jid.
  [[nodiscard]] virtual Result<std::string, PushRefusal> run_now(std::string_view id, Time now) = 0;

  /// See `CronRuns::pause` and `resume`.
  virtual Answer<Done> pause(std::string_view id, Time now) = 0;
  virtual Answer<Done> resume(std::string_view id, Time now) = 0;
};

inline constexpr std::size_t kCronNextRuns = 5;

}  // namespace millrace
