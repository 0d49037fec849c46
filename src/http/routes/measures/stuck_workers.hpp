#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/text_map.hpp"
#include "core/broker/broker.hpp"
#include "core/model/types.hpp"
#include "core/model/worker.hpp"

namespace millrace::http {

/// Finds workers that are likely stuck: they hold jobs, and are connected and have stopped sending
/// BEAT for `kHeartbeatLimit`; or have held all their jobs for at least `kStuckAfter`, and longer
/// than 95 % of the runs of their queues took. And jobs that nobody can report on: whoever fetched
/// them gave no wid, and has disconnected. It looks at all reserved jobs now and then, some of them
/// in a turn, and reads no bodies.
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

  /// Jobs that their clients left behind.
  struct Left {
    std::uint64_t jobs = 0;
    Time ends{};  ///< when the last of them times out

    bool operator==(const Left&) const = default;
  };

  /// Looks at some jobs, if it is time. To be called at `next_due`.
  void work(const Broker& broker, Time now);
  [[nodiscard]] Time next_due() const { return next_; }

  /// By wid. A worker may have ended since.
  [[nodiscard]] const std::map<std::string, Stuck, std::less<>>& all() const { return stuck_; }
  /// Null: it is not likely stuck.
  [[nodiscard]] const Stuck* find(std::string_view wid) const;
  [[nodiscard]] const Left& left() const { return left_; }

 private:
  struct Held {
    Stuck jobs;
    bool has_other = false;  ///< one that began not long ago, or need not have ended yet
  };

  void look_at(const Job& job, const Queue& queue, Time now);
  void end_round(const Workers& workers, Time now);

  std::map<std::string, Stuck, std::less<>> stuck_;
  Left left_;
  Time next_ = Time::min();

  // Of the round at hand.
  std::optional<TimeEntry> place_;  ///< the reservation that was looked at last
  TextMap<Held> held_;
  Left leaving_;
};

}  // namespace millrace::http
