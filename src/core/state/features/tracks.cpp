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

const Track* Tracks::find(std::string_view jid, std::size_t hash) const {
  const Shard& shard = shards_[shard_of(hash)];
  const auto found = shard.find(jid, hash);
  return found == shard.end() ? nullptr : &tracks_[*found];
}

std::size_t Tracks::memory_bytes() const {
  // The track with its texts, and its entries in the table and in the order.
  constexpr std::size_t kTrackBytes = 200;
  return tracks_.size() * kTrackBytes + record_bytes_;
}

// ---- records ------------------------------------------------------------------------------------

Tracks::Slot Tracks::change(const TrackChanged& record, std::size_t hash) {
  Shard& shard = shards_[shard_of(hash)];
  const auto found = shard.find(record.jid, hash);
  Slot slot = 0;
  if (found != shard.end()) {
    slot = *found;
    leave_log(slot);
    if (tracks_[slot].has_ended()) ended_.erase({tracks_[slot].updated_at, slot});
  } else {
    slot = tracks_.allocate();
    tracks_[slot].jid = record.jid;
    shard.insert(slot);
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
  const Slot slot = change(record, TextHash{}(record.jid));
  enter_log(slot, encoded_bytes(record_of(tracks_[slot])));
}

void Tracks::apply(TrackRemoved&& record) {
  const std::size_t hash = TextHash{}(record.jid);
  Shard& shard = shards_[shard_of(hash)];
  const auto found = shard.find(record.jid, hash);
  if (found == shard.end()) return;
  const Slot slot = *found;
  leave_log(slot);
  if (tracks_[slot].has_ended()) ended_.erase({tracks_[slot].updated_at, slot});
  shard.erase(found);
  // The record may name the track by its own text.
  tracks_.free(slot);
  // An empty shard gives its memory back: a million tracks may have gone.
  if (shard.empty() && shard.capacity() > kShards) shard.rehash(0);
}

void Tracks::enter_log(Slot slot, std::size_t record_bytes) {
  tracks_[slot].record_bytes = static_cast<std::uint32_t>(record_bytes);
  record_bytes_ += record_bytes;
  // The offset within the batch does not matter: a batch is never cut, so its beginning will do.
  log_.push_newest(slot, 0);
}

void Tracks::leave_log(Slot slot) {
  const std::uint32_t record_bytes = std::exchange(tracks_[slot].record_bytes, 0);
  if (record_bytes == 0) return;
  CHECK(record_bytes <= record_bytes_);
  record_bytes_ -= record_bytes;
  log_.remove(slot);
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
    const std::size_t before = batch.size();
    encode(record_of(track), batch);
    enter_log(slot, batch.size() - before);
    ++count;
  }
  unwritten_.clear();
  unwritten_bytes_ = 0;
  return count;
}

// ---- as a live kind -----------------------------------------------------------------------------

void Tracks::rewrite_oldest(std::string& batch) {
  const Slot slot = log_.oldest().value();
  leave_log(slot);
  const std::size_t before = batch.size();
  encode(record_of(tracks_[slot]), batch);
  enter_log(slot, batch.size() - before);
}

}  // namespace millrace
