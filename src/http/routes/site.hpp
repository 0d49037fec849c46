#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/text_map.hpp"
#include "core/broker/broker.hpp"
#include "core/broker/bulk_changes.hpp"
#include "core/model/meter.hpp"
#include "core/ports/cron_board.hpp"
#include "core/ports/push_in_parts.hpp"
#include "core/ports/work_unit.hpp"
#include "http/kit/cluster.hpp"
#include "http/kit/guard.hpp"
#include "http/kit/message.hpp"
#include "http/routes/arg_search.hpp"
#include "http/routes/measures/failure_series.hpp"
#include "http/routes/measures/fleet.hpp"
#include "http/routes/measures/series.hpp"
#include "http/routes/measures/stuck_workers.hpp"
#include "http/routes/measures/trend.hpp"

namespace millrace::http {

class Alerts;

/// Facts about the program that do not change while it runs.
struct ServerFacts {
  std::string version;
  std::string hostname;
  std::int64_t pid = 0;
  /// Differs at each start of the server: numbers of operations and clients mean others then.
  std::string instance;
  Time started_at{};
  std::string name = {};                                     ///< that people gave it; empty: none
  std::string name_color = {};                               ///< of its bar in the web UI
  std::vector<std::pair<std::string, std::string>> options;  ///< in force, no secrets
  bool is_read_only = false;
};

/// Facts that are read from the system for a request, before it comes to the broker's thread. Zero:
/// not known.
struct SystemFacts {
  std::uint64_t memory_bytes = 0;        ///< resident
  std::uint64_t memory_total_bytes = 0;  ///< of the machine
  std::uint64_t disk_free_bytes = 0;     ///< where the journal is
  std::uint64_t disk_total_bytes = 0;
  std::uint64_t journal_bytes = 0;
  std::uint64_t journal_segments = 0;
  bool has_journal = false;
};

/// Facts that the server counts outside of the broker.
struct TrafficFacts {
  /// A thread with sockets of the job ports.
  struct Io {
    std::string thread;  ///< `main`, or the name of its own
    std::uint64_t connections = 0;
    std::uint64_t rounds = 0;  ///< each waits for the sockets once
    std::uint64_t received_bytes = 0;
    std::uint64_t sent_bytes = 0;
    Duration processor_time{};  ///< 0 for the main thread
  };

  std::uint64_t beanstalk_connections = 0;
  std::uint64_t faktory_connections = 0;
  std::uint64_t undurable_bytes = 0;   ///< of the journal, appended and not durable yet
  std::uint64_t segments_removed = 0;  ///< of the journal, by compaction
  std::uint64_t log_bytes = 0;         ///< of the journal, without reserved space
  Histogram commits;                   ///< from a batch's append to its durability
  std::uint64_t statsd_left_out = 0;   ///< runs that statsd was not told of
  std::uint64_t log_lines_lost = 0;    ///< that nobody took
  std::uint64_t audit_lines_lost = 0;  ///< of `--audit-log`, that could not be written
  std::uint64_t clock_steps = 0;       ///< how often the wall clock was set
  bool is_stalled = false;             ///< something has been waiting for the disk for seconds
  bool is_stopping = false;
  bool is_draining = false;  ///< the beanstalk port refuses new jobs
  LeadershipFacts leadership;
  std::vector<Io> io;
};

/// Everything that the handlers may use. Requests come one at a time, in the broker's thread.
struct Site {
  Broker& broker;
  const WorkUnitFormat& format;
  BulkChanges& bulks;
  CronBoard& cron;
  const Trend& trend;
  const Series& series;
  const FailureSeries& failures;
  const StuckWorkers& stuck;
  const Fleet& fleet;
  Alerts& alerts;
  ServerFacts facts;
  std::function<TrafficFacts()> traffic;
  std::function<ClusterFacts()> cluster;
  /// Takes a job as PUSH does; and what INFO answers, with these queues: any thread may call the
  /// returned function, which writes it.
  std::function<Result<JobId, PushRefusal>(std::string_view json, Time now,
                                           const access::Caller& caller)>
      push;
  std::function<std::function<std::string()>(Time now, QueueSizes sizes)> info;
  /// Takes a long job. Any thread may call it.
  std::function<std::unique_ptr<PushInParts>(access::Caller caller)> push_in_parts;
  /// Whether jobs of that kind may be in a queue of that name. Faktory clients can name those of
  /// pushed jobs, and clients of one of the protocols those of all others.
  std::function<bool(std::string_view name, JobKind kind)> is_queue_name;
  /// What was kept of a block by a `MeasureCopy`; empty: nothing. Any thread may call it. Empty: no
  /// blocks are kept.
  std::function<std::string(const Block& block)> read_block = {};
  /// The part of a pushed job's body that begins with its arguments, a JSON array; else empty.
  ArgsPart args_part;
  /// For the jids of jobs that are pushed without one. Any thread may call it.
  std::function<std::uint64_t()> random;
  std::function<NewSecret()> draw_secret;  ///< of a token
  TextMap<Time> token_uses = {};           ///< the last ones since the process began, by the hashes
};

/// When a request is answered, and what the system looked like then.
struct Moment {
  Time now{};
  SystemFacts system;
};

/// Reads the request's parameters or members, and completes it. Any thread may call it: of `site`
/// it uses only `random` and `push_in_parts`. Returns the answer if the request makes no sense;
/// else nullopt.
[[nodiscard]] std::optional<Response> prepare(const Site& site, Request& request);

/// Answers `/api/v1/...`, `/metrics`, `/stats`, `/health` and `/health/leader`. The guard has let
/// the request in, and `prepare` found nothing wrong with it.
[[nodiscard]] Response answer(Site& site, const Request& request, const Moment& moment);

/// The change that was tried, without its time, where the guard has refused the request: because of
/// a wrong password, or since none may be made. nullopt: nothing is to be noted. Any thread may
/// call it.
[[nodiscard]] std::optional<Change> refused_attempt(const Request& request,
                                                    const Response& refusal);

/// What the request tells of a change, whatever becomes of it. Any thread may call it.
[[nodiscard]] Change change_of(const Request& request);

/// A change as the API and the audit log show it, in one line of JSON with its end.
[[nodiscard]] std::string audit_line(AuditLog::Number number, const Change& change,
                                     WallClock clock);

/// A moment as a change takes it for `as_of`: `next_id` and the time.
[[nodiscard]] std::string show_as_of(const View& view, Time now);

/// How long the body of this request may be: `job_bytes_max` for a pushed job, else
/// `kMembersBytesMax`.
[[nodiscard]] std::size_t body_bytes_max(const Request& request, std::size_t job_bytes_max);

/// A pushed job that is longer is read outside of the broker's thread.
inline constexpr std::size_t kLongPushBytes = 64 * 1024;

/// Longer than any body of members that makes sense.
inline constexpr std::size_t kMembersBytesMax = 64 * 1024;

}  // namespace millrace::http
