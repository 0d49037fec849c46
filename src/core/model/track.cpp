#include "core/model/features/track.hpp"

#include <algorithm>

namespace millrace {
namespace {

/// Once it was released, its `when` and its delay are of the same time: see `JobMoves::kick_later`.
Time scheduled_at(const StoredJob& job) {
  const Time known = std::max(job.created_at, job.enqueued_at);
  const bool was_released = job.tallies().releases > 0;
  return was_released ? std::max(known, job.when - std::chrono::seconds(job.delay_s)) : known;
}

}  // namespace

Time changed_at(const StoredJob& job) {
  switch (job.state) {
    case JobState::kScheduled:
      return scheduled_at(job);
    case JobState::kReady:
      return job.enqueued_at;
    case JobState::kReserved:
      return job.reservation()->reserved_at;
    case JobState::kRetrying:
      // It may have been pushed with failures that it had elsewhere.
      return std::max(job.failure() == nullptr ? Time{} : job.failure()->failed_at,
                      job.enqueued_at);
    case JobState::kDead:
      return job.when;
  }
  return {};
}

TrackState track_state_of(JobState state) {
  switch (state) {
    case JobState::kScheduled:
    case JobState::kReady:
      return TrackState::kEnqueued;
    case JobState::kReserved:
      return TrackState::kWorking;
    case JobState::kRetrying:
      return TrackState::kFailed;
    case JobState::kDead:
      return TrackState::kDead;
  }
  return TrackState::kUnknown;
}

TrackState track_state_of(TrackEnd end) {
  switch (end) {
    case TrackEnd::kNone:
    case TrackEnd::kUnknown:
      return TrackState::kUnknown;
    case TrackEnd::kSuccess:
      return TrackState::kSuccess;
    case TrackEnd::kFailed:
      return TrackState::kFailed;
    case TrackEnd::kDead:
      return TrackState::kDead;
  }
  return TrackState::kUnknown;
}

}  // namespace millrace
