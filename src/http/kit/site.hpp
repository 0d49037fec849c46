#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "core/broker/broker.hpp"
#include "core/broker/bulk_changes.hpp"
#include "core/model/meter.hpp"
#include "core/ports/work_unit.hpp"
#include "http/kit/message.hpp"
#include "http/routes/trend.hpp"

namespace millrace::http {

/// What is shown of the program and was settled when it started.
struct ServerFacts {
  std::string version;
  std::string hostname;
  std::int64_t pid = 0;
  /// Differs each time the server starts: ids and numbers of operations may mean others then.
  std::string instance;
  Time started_at{};
  std::vector<std::pair<std::string, std::string>> options;  ///< in force, no secrets
  bool is_read_only = false;
};

/// What is read from the system for a request, before it comes to the broker's thread. Zero: not
/// known.
struct SystemFacts {
  std::uint64_t memory_bytes = 0;        ///< resident
  std::uint64_t memory_total_bytes = 0;  ///< of the machine
  std::uint64_t disk_free_bytes = 0;     ///< where the journal is
  std::uint64_t disk_total_bytes = 0;
  std::uint64_t journal_bytes = 0;
  std::uint64_t journal_segments = 0;
  bool has_journal = false;
};

/// What the server counts outside of the broker.
struct TrafficFacts {
  std::uint64_t beanstalk_connections = 0;
  std::uint64_t faktory_connections = 0;
  std::uint64_t undurable_bytes = 0;   ///< of the journal, that wait for the disk
  std::uint64_t segments_removed = 0;  ///< of the journal, by cleaning
  std::uint64_t log_bytes = 0;         ///< of the journal, room not written to left out
  Histogram commits;                   ///< from a batch's append to its durability
  bool is_stalled = false;             ///< something has waited for the disk for seconds
  bool is_stopping = false;
};

/// Everything that the handlers reach. Requests come one at a time, in the broker's thread.
struct Site {
  Broker& broker;
  const WorkUnitFormat& format;
  BulkChanges& bulks;
  const Trend& trend;
  ServerFacts facts;
  std::function<TrafficFacts()> traffic;
  /// As PUSH takes a job; and what INFO answers, with these queues: what is returned writes it, in
  /// any thread.
  std::function<Outcome<JobId>(std::string_view json, Time now)> push;
  std::function<std::function<std::string()>(Time now, QueueSizes sizes)> info;
  /// For the jids of jobs that are pushed without one. Any thread may call it.
  std::function<std::uint64_t()> random;
};

/// When a request is answered, and what the system looked like then.
struct Moment {
  Time now{};
  SystemFacts system;
};

/// Reads what the request says, and completes it. May be called in any thread: of `site` it uses
/// only `random`. The answer to a request that makes no sense; else nullopt.
[[nodiscard]] std::optional<Response> prepare(const Site& site, Request& request);

/// Answers `/api/v1/...`, `/metrics`, `/stats` and `/health`. The guard has let the request in, and
/// `prepare` found nothing wrong with it.
[[nodiscard]] Response answer(Site& site, const Request& request, const Moment& moment);

/// When something was read, as a change takes it for `as_of`: `next_id` and the time.
[[nodiscard]] std::string show_as_of(const View& view, Time now);

/// How long the body of such a request may be: that of a pushed job `job_bytes_max`.
[[nodiscard]] std::size_t body_bytes_max(const Request& request, std::size_t job_bytes_max);

/// Of all other bodies: longer than any that makes sense.
inline constexpr std::size_t kMembersBytesMax = 64 * 1024;

}  // namespace millrace::http
