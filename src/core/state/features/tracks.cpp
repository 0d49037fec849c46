#include "core/state/features/tracks.hpp"

#include "core/model/codec.hpp"

namespace millrace {

TrackChanged record_of(const Track& track) {
  return {.jid = track.jid,
          .desc = track.desc,
          .updated_at = track.updated_at,
          .percent = track.percent,
          .end = track.end};
}

TrackChanged Tracks::record_in(Slot slot) const {
  return record_of(tracks_[slot]);
}

const Track* Tracks::find(std::string_view jid, std::size_t hash) const {
  const auto slot = slots_.find(jid, hash);
  return slot ? &tracks_[*slot] : nullptr;
}

std::size_t Tracks::memory_bytes() const {
  // The track with its texts, and its entries in the table and in the order.
  constexpr std::size_t kTrackBytes = 200;
  return tracks_.size() * kTrackBytes + live_bytes();
}

// ---- records ------------------------------------------------------------------------------------

Tracks::Slot Tracks::change(const TrackChanged& record, std::size_t hash) {
  const auto found = slots_.find(record.jid, hash);
  const Slot slot = found ? *found : tracks_.allocate();
  if (found) {
    leave_log(slot);
    if (tracks_[slot].has_ended()) ended_.erase({tracks_[slot].updated_at, slot});
  } else {
    tracks_[slot].jid = record.jid;
    slots_.insert(slot);
  }
  Stored& track = tracks_[slot];
  // The record may be one of this very track.
  if (track.desc != record.desc) track.desc = std::string(record.desc);
  track.updated_at = record.updated_at;
  track.percent = record.percent;
  track.end = record.end;
  // Nearly always it is the last that has ended.
  if (track.has_ended()) ended_.emplace_hint(ended_.end(), track.updated_at, slot);
  return slot;
}

void Tracks::apply(TrackChanged&& record) {
  enter_log(change(record, TextHash{}(record.jid)));
}

void Tracks::apply(TrackRemoved&& record) {
  const auto slot = slots_.find(record.jid);
  if (!slot) return;
  leave_log(*slot);
  if (tracks_[*slot].has_ended()) ended_.erase({tracks_[*slot].updated_at, *slot});
  slots_.erase(*slot);
  // The record may name the track by its own text.
  tracks_.free(*slot);
}

void Tracks::enter_log(Slot slot) {
  tracks_[slot].is_in_log = true;
  LiveRecords::enter_log(slot);
}

void Tracks::leave_log(Slot slot) {
  if (std::exchange(tracks_[slot].is_in_log, false)) LiveRecords::leave_log(slot);
}

// ---- writing once a batch -----------------------------------------------------------------------

void Tracks::set(TrackChanged&& record, std::size_t hash) {
  const Slot slot = change(record, hash);
  Stored& track = tracks_[slot];
  if (track.is_unwritten) return;
  track.is_unwritten = true;
  unwritten_.push_back(slot);
  // Its two texts, and a little more.
  constexpr std::size_t kOthers = 16;
  unwritten_bytes_ += track.jid.size() + track.desc.size() + kOthers;
}

std::size_t Tracks::write(std::string& batch) {
  std::size_t count = 0;
  for (const Slot slot : unwritten_) {
    if (tracks_.find(slot) == nullptr) continue;
    Stored& track = tracks_[slot];
    // It was removed since, and another one has its place.
    if (!track.is_unwritten) continue;
    track.is_unwritten = false;
    encode(record_of(track), batch);
    enter_log(slot);
    ++count;
  }
  unwritten_.clear();
  unwritten_bytes_ = 0;
  return count;
}

}  // namespace millrace
