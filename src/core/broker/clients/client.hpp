#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/meter.hpp"
#include "core/model/types.hpp"
#include "core/ports/session.hpp"

namespace millrace {

/// A client that waits for a job.
struct Wait {
  std::uint64_t ticket = 0;  ///< drawn when the wait began: the smaller was here first
  std::vector<QueueId> queues;
  std::optional<std::string> wid;  ///< set: a worker will hold the job, else the connection
  Time until = kNever;
  Time alarm = kNever;     ///< when to look at it, if no job comes
  bool is_listed = false;  ///< the request listed the queues; else they are the watched ones
};

/// What the broker knows of a connection.
struct Client {
  ClientId id = 0;
  Session* session = nullptr;
  std::optional<QueueId> used;
  std::vector<QueueId> watched;  ///< in the order of watching
  std::string wid;               ///< empty unless a worker is registered on it
  WorkerMeter runs;              ///< that were reported on this connection
  bool has_fetched = false;      ///< it has asked for jobs
  Time next_note{};           ///< when its FETCH is noted again: see `WorkerRegistry::note_fetch`
  bool keeps_jobs = false;    ///< its end does not mean that its worker is lost
  bool has_taken = false;     ///< it was handed a job
  bool worker_beats = false;  ///< as `Worker::beats_steadily`
  std::optional<Wait> wait;
  bool is_woken = false;  ///< in the list that `Broker::take_woken` gives
};

using Clients = absl::flat_hash_map<ClientId, Client>;

}  // namespace millrace
