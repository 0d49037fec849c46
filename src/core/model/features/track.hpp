#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/hash.hpp"
#include "core/model/job.hpp"

namespace millrace {

/// How the last tracked job of a name has ended.
enum class TrackEnd : std::uint8_t {
  kNone,  ///< it has not: the job is in memory
  kSuccess,
  kFailed,
  kDead,
  kUnknown,  ///< no tracked job had that name when the values were set
};

/// What is told of a job by its name (FWP TRACK GET).
enum class TrackState : std::uint8_t { kUnknown, kEnqueued, kWorking, kSuccess, kFailed, kDead };

/// More than any percent: none was set.
inline constexpr std::uint8_t kNoPercent = 101;

/// Of a track's description. What is longer is cut.
inline constexpr std::size_t kTrackDescBytesMax = 1024;

/// How long a track is kept after it was last written, unless its job is in memory.
inline constexpr Duration kTrackLimit = 30min;

/// How many tracks of jobs that have ended are kept. Beyond it the oldest one goes.
inline constexpr std::size_t kEndedTracksMax = 1'000'000;

/// What was told of a job's progress, or how it has ended.
struct Track {
  std::string jid;
  std::string desc;
  Time updated_at{};
  std::uint8_t percent = kNoPercent;
  TrackEnd end = TrackEnd::kNone;

  [[nodiscard]] bool has_ended() const { return end != TrackEnd::kNone; }
};

/// What TRACK GET shows.
struct TrackView {
  TrackState state = TrackState::kUnknown;
  std::uint8_t percent = kNoPercent;
  std::string desc;
  Time updated_at{};  ///< the epoch: nothing is known of the job
};

/// By which the tracked job of that name is found, together with its body. It is stored, so it is
/// the same in every process. Many names may have the same one.
[[nodiscard]] inline std::uint32_t jid_hash(std::string_view jid) {
  constexpr std::uint32_t kBits = (1u << 24) - 1;
  Fnv1a hash;
  hash.add(jid);
  return static_cast<std::uint32_t>(hash.value()) & kBits;
}

/// When the job came into the state that it is in. Of one that is retrying not for the second time
/// or later, which is not stored: then it is when it was enqueued before that failure.
[[nodiscard]] Time changed_at(const StoredJob& job);

/// What a job in memory is.
[[nodiscard]] TrackState track_state_of(JobState state);
/// What a job was that has ended so.
[[nodiscard]] TrackState track_state_of(TrackEnd end);

}  // namespace millrace
