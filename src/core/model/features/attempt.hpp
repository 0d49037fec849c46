#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/job.hpp"
#include "core/model/types.hpp"

namespace millrace {

/// How a run of a job ended that did not end well.
enum class AttemptEnd : std::uint8_t {
  kFailed,      ///< the worker reported so (FAIL)
  kExpired,     ///< the worker's reservation ran out
  kTimedOut,    ///< the connection's did (TTR)
  kWorkerLost,  ///< the worker is gone and left the job behind
  kReleased,    ///< the worker gave the job back (FAIL)
  kEndedLate,   ///< as kWorkerLost, but the worker reported later that the run had ended well
};
inline constexpr AttemptEnd kAttemptEndMax = AttemptEnd::kEndedLate;

/// Of the names of a worker and of its host, as an attempt has them. Longer ones are cut.
inline constexpr std::size_t kAttemptNameBytesMax = 255;

/// A run of a job that did not end well, and what held the job. Times are steady.
struct Attempt {
  std::uint32_t number = 0;  ///< how often the job had been reserved by then, this time included
  Time began{};
  Time ended{};
  AttemptEnd end = AttemptEnd::kFailed;
  /// The failure that the job has since tells of this run. The attempt gets its texts when a later
  /// run replaces them.
  bool has_failure = false;
  std::string wid;  ///< the worker; empty for a connection and for a producer that fetched
  std::string hostname;
  std::int64_t pid = 0;
  ClientId connection = 0;  ///< the one that asked for the job, if it is known
  std::string errtype;
  std::string message;
  std::vector<std::string> backtrace;

  bool operator==(const Attempt&) const = default;
};

/// The last runs of a job that did not end well, oldest first. It is bounded: the texts and
/// names of all of them take `kTextBytesMax` at most, those of the job's failure not counted.
struct Attempts {
  static constexpr std::size_t kCountMax = 10;
  /// The job's failure has the last one.
  static constexpr std::size_t kBacktracesMax = 3;
  static constexpr std::size_t kTextBytesMax = 4096;

  std::vector<Attempt> list;

  /// Adds the attempt, unless one of its number or a later one is there: then only `kEndedLate` is
  /// new, of an attempt that lost its worker. `failure` is what the job
  /// has so far, or null: where the new attempt replaces it, the attempt that it tells of gets its
  /// texts, as far as they fit.
  void add(Attempt attempt, const Failure* failure);

  /// How many of the last ones in a row lost their workers, since the job was dead for that.
  [[nodiscard]] std::size_t lost_in_a_row() const;
  /// Whether any run was a worker's, and not a connection's.
  [[nodiscard]] bool has_worker() const {
    return std::any_of(list.begin(), list.end(),
                       [](const Attempt& each) { return !each.wid.empty(); });
  }
  /// Whether a run was taken from the worker of that name: it was lost, or its reservation ran out.
  [[nodiscard]] bool was_taken_from(std::string_view wid) const {
    return find_taken(wid) != nullptr;
  }
  /// Whether that is the last one.
  [[nodiscard]] bool was_last_taken_from(std::string_view wid) const;
  /// The last run that was taken from it; null: there is none.
  [[nodiscard]] const Attempt* find_taken(std::string_view wid) const;

  bool operator==(const Attempts&) const = default;

 private:
  void end_late(std::uint32_t number);
  void bound();
};

}  // namespace millrace
