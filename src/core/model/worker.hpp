#pragma once

#include <absl/container/btree_map.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/model/features/served_queues.hpp"
#include "core/model/meter.hpp"
#include "core/model/types.hpp"

namespace millrace {

/// A Faktory worker process: one `wid`, any number of connections. It is not stored.
struct Worker {
  enum class State : std::uint8_t { kRunning, kQuiet, kTerminate };  ///< moves to the right only

  std::string wid;
  std::string hostname;
  std::int64_t pid = 0;
  std::vector<std::string> labels;
  std::int64_t rss_kb = 0;
  State state = State::kRunning;
  Time started_at{};
  Time last_beat{};         ///< or of its first connection
  bool has_beaten = false;  ///< some clients never do
  /// It has sent a BEAT, and said no HELLO after that and after a connection had closed without
  /// END. Some clients open a connection for each command, BEAT included, and share their wid: when
  /// all of them run jobs, they are silent, and live.
  bool beats_steadily = false;
  bool has_dropped = false;    ///< a connection, without END, since the last such HELLO
  bool may_hold_jobs = false;  ///< of before its present connections
  std::set<ClientId> clients;
  WorkerMeter former_runs;  ///< that were reported on connections that have closed
  ServedQueues queues;      ///< that it asks for
};

/// What becomes of the jobs of a worker that is lost: one that has sent a BEAT, and whose
/// connections were closed by itself or by the network. Whatever else happens to a connection, its
/// worker keeps its jobs until their reservations run out.
struct WorkerRules {
  /// They come back when it has been gone for so long. Nullopt: when their reservations run out.
  std::optional<Duration> timeout;
  /// A job that lost so many workers in a row is dead. 0: never.
  std::uint32_t poison_after = 0;
  /// The reservations of a worker that is connected and beats do not run out.
  bool extends = false;
};

inline constexpr Duration kWorkerTimeoutMin = 5s;

/// After a start, workers of before it have so many timeouts to come back: it was the server that
/// closed their connections. faktory_worker_go tries one of its old connections with each BEAT, so
/// with 20 of them and 15 s it is back after five minutes.
inline constexpr int kTimeoutsAfterStart = 10;

/// The workers that are connected, by wid.
using Workers = absl::btree_map<std::string, Worker>;

/// A worker that has sent no BEAT for this long, and was handed no job by its present connections,
/// is dropped, and its connections are closed. The reference server has the same limit, checks it
/// every 15 s, and also drops workers with jobs: their reports then meet a closed connection.
inline constexpr Duration kHeartbeatLimit = 60s;

}  // namespace millrace
