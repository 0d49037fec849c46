#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/text_map.hpp"
#include "core/model/types.hpp"
#include "core/model/worker.hpp"
#include "core/state/store.hpp"

namespace millrace::http {

/// Finds workers that are likely stuck: they hold jobs, and are connected and have stopped sending
/// BEAT for `kHeartbeatLimit`; or have held all their jobs for at least `kStuckAfter`, and longer
/// than 95 % of the runs of their queues took. It looks at all reserved jobs now and then, some of
/// them in a turn, and reads no bodies.
class StuckWorkers {
 public:
  static constexpr Duration kStuckAfter = 15min;
  static constexpr Duration kInterval = 15s;
  static constexpr std::size_t kJobsATurn = 500;
  static constexpr Duration kTurnPause = 1ms;
  /// Of further workers nothing is found out.
  static constexpr std::size_t kWorkersMax = 10'000;

  struct Stuck {
    std::uint64_t jobs = 0;  ///< that it holds
    Time since{};            ///< its last BEAT, or when the last of them was reserved
  };

  /// Looks at some jobs, if it is time. To be called at `next_due`.
  void work(const Store& store, const Workers& workers, Time now);
  [[nodiscard]] Time next_due() const { return next_; }

  /// By wid. A worker may have ended since.
  [[nodiscard]] const std::map<std::string, Stuck, std::less<>>& all() const { return stuck_; }
  /// Null: it is not likely stuck.
  [[nodiscard]] const Stuck* find(std::string_view wid) const;

 private:
  struct Held {
    Stuck jobs;
    bool has_other = false;  ///< one that began not long ago, or need not have ended yet
  };

  void look_at(const Job& job, const Queue& queue, Time now);

  std::map<std::string, Stuck, std::less<>> stuck_;
  Time next_ = Time::min();

  // Of the round at hand.
  std::optional<TimeEntry> place_;  ///< the reservation that was looked at last
  TextMap<Held> held_;
};

}  // namespace millrace::http
