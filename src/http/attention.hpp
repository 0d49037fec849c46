#pragma once

#include <string>
#include <vector>

#include "http/site.hpp"

namespace millrace::http {

/// Something that a person should look at.
struct Concern {
  enum class Level { kNotice, kTrouble };

  Level level = Level::kNotice;
  std::string kind;   ///< a word for programs: `abandoned`, `paused`, ...
  std::string text;   ///< a sentence for people
  std::string queue;  ///< the queue that it is about, or empty
};

/// What the server looks like at a moment.
struct Situation {
  std::vector<Concern> concerns;  ///< the worst first, `kConcernsOfKindMax` of each kind at most
  std::size_t left_out = 0;       ///< further ones
  std::size_t troubles = 0;       ///< concerns of that level, those left out too
  std::string oldest_queue;       ///< the queue with the oldest ready job; empty: none is ready
  Time oldest = kNever;           ///< since when that job is ready
};

[[nodiscard]] Situation look_at(const Site& site, const Moment& moment);

inline constexpr std::size_t kConcernsOfKindMax = 4;

/// So many queues with ready jobs are looked at, among so many.
inline constexpr std::size_t kQueuesPassedMax = 100'000;
inline constexpr std::size_t kQueuesLookedAt = 20'000;

/// Below this share left, disk and memory are worth a word.
inline constexpr double kRoomLow = 0.1;
inline constexpr std::uint64_t kRoomLowPart = 10;

}  // namespace millrace::http
