#include "core/broker/features/tracking.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace millrace {
namespace {

/// How many jobs are looked at whose names have the same hash.
constexpr std::size_t kTrackedNamesakesMax = 64;

/// Null unless a worker holds the job: then its name is known without the body.
const Reservation* held_by_worker(const Job& job) {
  const Reservation* const held = job.reservation();
  return held != nullptr && held->is_held_by_worker() ? held : nullptr;
}

/// The track tells of the end of another job of that name, and that came after what happened to
/// this one last.
bool is_newer(const Track* track, const Job& job) {
  return track != nullptr && track->has_ended() && track->updated_at > changed_at(job);
}

TrackEnd track_end_of(JobEnd end) {
  switch (end) {
    case JobEnd::kSucceeded:
      return TrackEnd::kSuccess;
    case JobEnd::kFailed:
      return TrackEnd::kFailed;
    case JobEnd::kGone:
    case JobEnd::kExpired:
      return TrackEnd::kDead;
    case JobEnd::kFlushed:
      break;
  }
  return TrackEnd::kUnknown;
}

void keep_values(const Track& track, TrackChanged& record) {
  record.percent = track.percent;
  record.desc = track.desc;
}

}  // namespace

// ---- finding jobs by name -----------------------------------------------------------------------

bool Tracking::is_named(const Job& job, std::string_view jid) const {
  if (const Reservation* const held = held_by_worker(job)) return held->jid == jid;
  return ledger_.store().jobs().load_body(job) && format_.identify(job).jid == jid;
}

const Job* Tracking::find_job(std::string_view jid) const {
  const Jobs& jobs = ledger_.store().jobs();
  std::vector<JobSlot> slots = jobs.tracked().candidates(jid_hash(jid), kTrackedNamesakesMax);
  // The body of one is read where the names differ, and seldom of more.
  std::ranges::stable_sort(slots, [&jobs](JobSlot a, JobSlot b) {
    return changed_at(jobs.at(a)) > changed_at(jobs.at(b));
  });
  for (const JobSlot slot : slots) {
    if (is_named(jobs.at(slot), jid)) return &jobs.at(slot);
  }
  return nullptr;
}

// ---- reading and setting ------------------------------------------------------------------------

TrackView Tracking::get(std::string_view jid) const {
  const Track* const track = tracks().find(jid);
  const Job* const job = find_job(jid);
  TrackView view;
  const bool is_of_job = job != nullptr && !is_newer(track, *job);
  if (is_of_job) {
    view.state = track_state_of(job->state);
    view.updated_at = changed_at(*job);
  } else if (track != nullptr) {
    view.state = track_state_of(track->end);
  }
  // Values that were told of an earlier job are not those of this one.
  if (track == nullptr || (is_of_job && track->has_ended())) return view;
  view.updated_at = std::max(view.updated_at, track->updated_at);
  view.percent = track->percent;
  view.desc = track->desc;
  return view;
}

Answer<Done> Tracking::set(const TrackUpdate& update, Time now) {
  if (!admission_.admits_growth()) return Refusal::kNoRoom;
  CHECK(update.jid.size() <= kJidBytesMax);
  const std::size_t hash = TextHash{}(update.jid);
  const Track* const track = tracks().find(update.jid, hash);
  const Job* const job = find_job(update.jid);
  const bool is_of_job = job != nullptr && !is_newer(track, *job);
  TrackChanged record{.jid = update.jid, .updated_at = now};
  if (!is_of_job) {
    const bool has_ended = track != nullptr && track->has_ended();
    record.end = has_ended ? track->end : TrackEnd::kUnknown;
  }
  // Nothing bounds the names that clients make up but this.
  if (track == nullptr && !is_of_job && !admission_.admits_jobs()) return Refusal::kNoRoom;
  if (track != nullptr && !(is_of_job && track->has_ended())) keep_values(*track, record);
  if (update.percent) record.percent = *update.percent;
  if (update.desc) record.desc = cut(*update.desc, kTrackDescBytesMax);
  ledger_.store().tracks().set(std::move(record), hash);
  keep_limit();
  return Done{};
}

// ---- ends ---------------------------------------------------------------------------------------

void Tracking::end(const Job& job, JobEnd end, Time now) {
  // FLUSH drops the tracks by itself.
  if (end == JobEnd::kFlushed) return;
  if (const Reservation* const held = held_by_worker(job)) {
    return remember(held->jid, end, now);
  }
  // A name that cannot be read is not remembered.
  if (!ledger_.store().jobs().load_body(job)) return;
  remember(format_.identify(job).jid, end, now);
}

void Tracking::remember(std::string_view jid, JobEnd end, Time now) {
  const std::size_t hash = TextHash{}(jid);
  const Track* const track = tracks().find(jid, hash);
  if (!admission_.admits_growth()) {
    if (track != nullptr) ledger_.commit(TrackRemoved{.jid = jid});
    return;
  }
  TrackChanged record{.jid = jid, .updated_at = now, .end = track_end_of(end)};
  if (track != nullptr && !track->has_ended()) keep_values(*track, record);
  ledger_.store().tracks().set(std::move(record), hash);
  keep_limit();
}

void Tracking::remove_oldest_ended() {
  const Track& oldest = tracks().at(tracks().ended().begin()->second);
  ledger_.commit(TrackRemoved{.jid = oldest.jid});
}

/// At once, since a turn may bring more of them than a slice removes. One more than came, so that
/// too many of an older version become fewer.
void Tracking::keep_limit() {
  for (int i = 0; i < 2 && tracks().ended().size() > kEndedTracksMax; ++i) remove_oldest_ended();
}

void Tracking::remove_due(Time now) {
  for (std::size_t removed = 0; removed < kSliceJobs && next_due() <= now; ++removed) {
    remove_oldest_ended();
  }
}

Time Tracking::next_due() const {
  const Tracks::Ended& ended = tracks().ended();
  return ended.empty() ? kNever : moved_by(ended.begin()->first, kTrackLimit);
}

}  // namespace millrace
