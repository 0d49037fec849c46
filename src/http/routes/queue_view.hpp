#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/broker/view.hpp"
#include "core/model/queue.hpp"
#include "core/model/types.hpp"
#include "http/kit/json.hpp"

namespace millrace::http {

/// The numbers of a queue that lists, concerns and metrics show. No job's body is read for them.
struct QueueFigures {
  const Queue* queue = nullptr;
  std::uint64_t ready = 0;
  std::uint64_t reserved = 0;
  std::uint64_t scheduled = 0;
  std::uint64_t retrying = 0;
  std::uint64_t dead = 0;
  std::uint64_t expired = 0;  ///< since it came into being, in this process
  Time oldest = kNever;       ///< when its oldest ready job became ready
  double enqueued_rate = 0;
  double processed_rate = 0;
  double failed_rate = 0;
  bool is_paused = false;
  std::string throttled;     ///< see `throttled_by`
  std::uint64_t takers = 0;  ///< see `Queue::taker_count`
  bool is_served = false;    ///< there are some, or a FETCH has named it within a minute
};

/// A walk over the queues that exist when it begins, some of them in each turn of the broker.
class QueueWalk {
 public:
  static constexpr std::size_t kQueuesATurn = 5'000;

  /// Visits so many more queues. True: these were the last.
  bool visit_some(const View& view, const std::function<void(const Queue&)>& visit,
                  std::size_t count = kQueuesATurn);

 private:
  std::uint64_t next_ = 0;  ///< in the order of creation
  std::optional<std::uint64_t> end_;
};

[[nodiscard]] QueueFigures figures_of(const Queue& queue, const View& view, Time now);
[[nodiscard]] Json show_figures(const QueueFigures& figures, WallClock clock);

/// The first workers that serve the queue, by wid.
[[nodiscard]] Json show_servers(const Queue& queue, const View& view, Time now);
inline constexpr std::size_t kServersShownMax = 100;

/// True when jobs are ready, but no client has taken one, or waited for one, for `kAbandonedAfter`.
[[nodiscard]] bool is_abandoned(const QueueFigures& figures, Time now);
/// The same; `oldest`: since when its oldest job is ready.
[[nodiscard]] bool is_abandoned(const Queue& queue, Time oldest, Time now);
inline constexpr Duration kAbandonedAfter = 60s;

/// Of all queues that it looks at, the busiest: those with the most jobs, and with the most jobs
/// put, pushed and run within the last moments. Of equally busy ones the older.
class BusiestQueues {
 public:
  explicit BusiestQueues(std::size_t count_max) : count_max_(count_max) {}

  void look_at(const Queue& queue, Time now);

  /// Their places in the order of creation, smallest first.
  [[nodiscard]] std::vector<std::uint64_t> places() const;

 private:
  struct Entry {
    double activity = 0;
    std::uint64_t place = 0;

    [[nodiscard]] bool is_before(const Entry& other) const {
      return activity != other.activity ? activity > other.activity : place < other.place;
    }
  };

  std::size_t count_max_;
  std::vector<Entry> heap_;  ///< the least busy first
};

}  // namespace millrace::http
