#pragma once

#include <absl/container/btree_map.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/model/due_order.hpp"
#include "core/model/log_place.hpp"
#include "core/model/meter.hpp"
#include "core/model/order.hpp"
#include "core/model/types.hpp"

namespace millrace {

class Lines;
struct Throttle;

/// A named line of jobs: beanstalk's tube, FWP's queue. It exists while it holds a job, a client
/// uses, watches or waits for it, it is kept or paused without end, or it is `default`.
struct Queue {
  std::string name;
  QueueId id = 0;
  std::uint64_t created = 0;  ///< place in the order of creation

  ReadyOrder ready;
  DueOrder delayed;  ///< scheduled and retrying
  TimeOrder dead;    ///< oldest first
  std::uint64_t reserved_count = 0;
  std::uint64_t retrying_count = 0;  ///< of `delayed`
  std::uint64_t expiring_count = 0;  ///< ready or delayed, and they expire some time
  std::uint64_t urgent_count = 0;    ///< ready with pri < kUrgentPri

  Time paused_until{};
  std::uint32_t pause_s = 0;
  bool is_kept = false;

  std::optional<LogNode> log;  ///< set while it has a record that the log must keep

  /// Its place among the listed queues, if it is one: see `Queues::listed`.
  std::optional<std::uint32_t> listed_at;

  std::uint32_t user_count = 0;     ///< connections that put here (`use`)
  Time fetched_at{};                ///< when a FETCH last named it, about
  std::uint32_t watcher_count = 0;  ///< connections that watch it
  /// Connections that take its jobs: those that watch it and have asked for a job, and those that
  /// wait in a request that lists it. A connection that only puts watches a queue, too.
  std::uint32_t taker_count = 0;
  absl::btree_map<std::uint64_t, ClientId> waiting;  ///< by ticket: first come, first served

  // Since it came into being; not stored.
  std::uint64_t total_jobs = 0;
  std::uint64_t delete_count = 0;
  std::uint64_t pause_count = 0;
  std::uint64_t expired_count = 0;
  std::uint32_t taken_count = 0;      ///< jobs handed out of the ready line
  Throttle* throttle = nullptr;       ///< owned by `Throttles`; null: nothing limits the queue
  Lines* lines = nullptr;             ///< the same; null: `ready` says whose turn it is
  std::unique_ptr<QueueMeter> meter;  ///< null until there was something to measure

  [[nodiscard]] QueueMeter& measured() {
    if (!meter) meter = std::make_unique<QueueMeter>();
    return *meter;
  }
  [[nodiscard]] bool is_paused(Time now) const { return now < paused_until; }
  [[nodiscard]] std::uint64_t scheduled_count() const { return delayed.size() - retrying_count; }
  [[nodiscard]] std::uint64_t job_count() const {
    return ready.size() + delayed.size() + dead.size() + reserved_count;
  }
};

/// Names of queues, and how many jobs are ready in each.
using QueueSizes = std::vector<std::pair<std::string, std::uint64_t>>;

inline constexpr const char* kDefaultQueue = "default";

}  // namespace millrace
