#pragma once

#include <cstdint>
#include <string>

namespace millrace::simulation {

/// What happened in worlds of the failover simulation.
struct FailoverTotals {
  std::uint64_t worlds = 0;
  std::uint64_t operations = 0;    ///< commands that clients sent to a leader
  std::uint64_t replies = 0;       ///< replies that clients received
  std::uint64_t batches = 0;       ///< that a leader appended
  std::uint64_t batches_lost = 0;  ///< of those, never stored: their leader was deposed before
  std::uint64_t claims = 0;        ///< that were stored
  std::uint64_t beats = 0;
  std::uint64_t spreads = 0;           ///< retries of all failed jobs, within some time
  std::uint64_t strays = 0;            ///< entries stored behind refused ones, which do not count
  std::uint64_t takeovers = 0;         ///< a server led after another one, or after its own end
  std::uint64_t stale_leaders = 0;     ///< led by a claim that another one had followed already
  std::uint64_t deposed = 0;           ///< learned that another one leads, and started over
  std::uint64_t resumed = 0;           ///< led on after its lease had been over
  std::uint64_t unheard_commands = 0;  ///< to a deposed leader, and left unanswered
  std::uint64_t handovers = 0;         ///< orderly releases
  std::uint64_t kills = 0;
  std::uint64_t power_cuts = 0;
  std::uint64_t wiped_caches = 0;
  std::uint64_t damaged_caches = 0;  ///< found to be, and discarded
  std::uint64_t trimmed_away = 0;    ///< caches discarded, since the log began after their end
  std::uint64_t pauses = 0;
  std::uint64_t cuts = 0;           ///< of a connection to the log service
  std::uint64_t requests_lost = 0;  ///< to the log service
  std::uint64_t answers_lost = 0;   ///< of the log service
  std::uint64_t late_requests = 0;  ///< reached the service after their process had ended
  std::uint64_t entries_in_parts = 0;
  std::uint64_t segments_removed = 0;
  std::uint64_t messages_trimmed = 0;  ///< from the service's log

  FailoverTotals& operator+=(const FailoverTotals& other);
};

/// The totals for a person, several lines.
[[nodiscard]] std::string to_text(const FailoverTotals& totals);

}  // namespace millrace::simulation
