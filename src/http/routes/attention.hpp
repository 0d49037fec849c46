#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/routes/queue_view.hpp"
#include "http/routes/scope.hpp"
#include "http/routes/site.hpp"

namespace millrace::http {

/// Something that a person should look at.
struct Concern {
  enum class Level { kNotice, kTrouble };

  Level level = Level::kNotice;
  std::string kind;  ///< a word for programs: `abandoned`, `paused`, ...
  std::string text;  ///< a sentence for people
  // What it is about; empty: nothing of that kind.
  std::string queue = {};
  std::string wid = {};
  std::string worker = {};  ///< what people call the one with the wid: `web-3:4711`
  std::string error = {};   ///< the group of failures, in hex
};

/// The kinds of concerns.
inline constexpr std::array<std::string_view, 14> kConcernKinds = {
    "abandoned", "bodies",  "bodies_awaited", "disk",   "draining", "error",   "failures",
    "full",      "growing", "left",           "memory", "paused",   "stalled", "stuck"};

/// Without a full stop.
[[nodiscard]] std::string sentence_of(const Concern& concern);

/// What the server looks like at a moment.
struct Situation {
  std::vector<Concern> concerns;  ///< the worst first, `kConcernsOfKindMax` of each kind at most
  std::size_t left_out = 0;       ///< how many more there are
  std::size_t troubles = 0;       ///< concerns of level kTrouble, those left out included
  std::string oldest_queue;       ///< the queue with the oldest ready job; empty: none is ready
  Time oldest = kNever;           ///< when that job became ready
};

/// Jobs that wait in a queue.
struct Backlog {
  std::string queue;
  std::uint64_t jobs = 0;
  double growth_per_s = 0;  ///< of one that grows
};

inline constexpr std::size_t kConcernsOfKindMax = 4;

[[nodiscard]] Concern show_abandoned(const Backlog& backlog);
[[nodiscard]] Concern show_paused(const Backlog& backlog);
/// Its oldest ready job waits for so long.
[[nodiscard]] Concern show_late(const std::string& queue, Duration waited);

/// Looks for concerns, in several turns of the broker if there are many queues.
class Inspection {
 public:
  Inspection() = default;
  /// Of these queues alone; of the server as a whole it tells only what stops all.
  explicit Inspection(ScopedQueues queues) : queues_(std::move(queues)) {}

  /// Looks at some queues. True: these were the last.
  bool look_at_queues(const Site& site, Time now) {
    return look_at_queues(site, now, {}, QueueWalk::kQueuesATurn);
  }
  /// Looks at so many, and shows those with ready jobs to `also`.
  bool look_at_queues(const Site& site, Time now,
                      const std::function<void(const QueueFigures&)>& also, std::size_t count);

  /// The concerns of the queues, and those of the server as a whole.
  [[nodiscard]] Situation conclude(const Site& site, const Moment& moment) const;

 private:
  /// The longest backlogs of those with one concern: many queues with it must not hide another.
  struct Backlogs {
    std::vector<Backlog> longest;  ///< the longest first; of equal ones the older queue
    std::size_t count = 0;

    void add(Backlog backlog);
    [[nodiscard]] std::size_t left_out() const { return count - longest.size(); }
  };

  void look_at_queue(const QueueFigures& figures, const Site& site, Time now);

  std::optional<ScopedQueues> queues_;  ///< nullopt: all
  QueueWalk walk_;
  Situation found_;  ///< without its concerns
  Backlogs abandoned_;
  Backlogs paused_;
  Backlogs growing_;
};

/// A queue grows when it has so many ready jobs, and had fewer `kGrowthSpan` ago, and fewer still
/// before that: a tenth of what it has now has come in the two.
inline constexpr std::uint64_t kGrowthJobsMin = 1000;
inline constexpr Duration kGrowthSpan = 5min;

/// An error grows when it came so often in the last `kGrowthSpan`, and at least twice as often as
/// in the one before. Of those that occurred last so many are looked at.
inline constexpr std::uint64_t kErrorGrowthMin = 20;
inline constexpr std::size_t kErrorsLookedAt = 100;

/// Disk and memory are a concern when less than a tenth of them is free.
inline constexpr std::uint64_t kRoomLowPart = 10;
inline constexpr double kRoomLow = 1.0 / kRoomLowPart;

}  // namespace millrace::http
