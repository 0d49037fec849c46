#include "http/routes/features/job_features.hpp"

#include "http/routes/features/throttle_view.hpp"

namespace millrace::http {

Json show_lock(const Job& job) {
  if (!job.features || !job.features->wants_lock()) return nullptr;
  const bool is_held = job.holds_lock();
  return {{"is_held", is_held},
          // A lock lasts by the wall clock.
          {"until", is_held ? show_time(job.lock_ends(), {}) : Json(nullptr)},
          {"ends_with", job.features->locks_until_start ? "start" : "success"}};
}

Json show_expiry(const Job& job) {
  return job.features ? show_time(job.features->expires_at, {}) : Json(nullptr);
}

Json show_progress(const Job& job, std::string_view jid, const View& view) {
  const Track* const track = view.progress_of(job, jid);
  if (track == nullptr) return nullptr;
  return {{"percent", track->percent == kNoPercent ? Json(nullptr) : Json(track->percent)},
          {"desc", text_or_null(track->desc)},
          {"updated_at", show_time(track->updated_at, view.wall_clock())}};
}

Json show_hold(const Job& job, const WorkUnitFormat::Type& type, const View& view, Time now) {
  if (job.state != JobState::kReady) return nullptr;
  const Queue& queue = view.queue_of(job);
  if (queue.is_paused(now)) {
    const bool ends = queue.paused_until != kNever;
    return {{"reason", "paused"},
            {"until", ends ? show_time(queue.paused_until, view.wall_clock()) : Json(nullptr)},
            {"throttled", nullptr}};
  }
  std::string throttled = held_by(job, type, view, now);
  // A limit of the queue holds up all its jobs.
  if (queue.throttle != nullptr && !queue.throttle->has_room(now)) throttled.clear();
  if (throttled.empty()) throttled = throttled_by(queue, now);
  if (throttled.empty()) return nullptr;
  return {{"reason", "throttled"}, {"until", nullptr}, {"throttled", throttled}};
}

}  // namespace millrace::http
