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

const Track* Tracks::find(std::string_view jid) const {
  const std::size_t hash = TextHash{}(jid);
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

Tracks::Slot Tracks::change(const TrackChanged& record) {
  bool is_new = false;
  Shard& shard = shards_[shard_of(TextHash{}(record.jid))];
  const Slot slot = *shard.lazy_emplace(record.jid, [&](const auto& enter_as) {
    is_new = true;
    const Slot fresh = tracks_.allocate();
    tracks_[fresh].jid = record.jid;
    enter_as(fresh);
  });
  Stored& track = tracks_[slot];
  if (!is_new) leave(slot);
  // The record may be one of this very track.
  if (track.desc != record.desc) track.desc = std::string(record.desc);
  track.updated_at = record.updated_at;
  track.percent = record.percent;
  track.end = record.end;
  enter(slot);
  return slot;
}

void Tracks::apply(TrackRemoved&& record) {
  const std::size_t hash = TextHash{}(record.jid);
  Shard& shard = shards_[shard_of(hash)];
  const auto found = shard.find(record.jid, hash);
  if (found == shard.end()) return;
  const Slot slot = *found;
  leave(slot);
  shard.erase(found);
  // The record may name the track by its own text.
  tracks_.free(slot);
  // An empty shard gives its memory back: a million tracks may have gone.
  if (shard.empty() && shard.capacity() > kShards) shard.rehash(0);
}

void Tracks::enter(Slot slot) {
  Stored& track = tracks_[slot];
  track.record_bytes = static_cast<std::uint32_t>(encoded_bytes(record_of(track)));
  record_bytes_ += track.record_bytes;
  // The offset within the batch does not matter: a batch is never cut, so its beginning will do.
  log_.push_newest(slot, 0);
  // Nearly always it is the last that has ended.
  if (track.has_ended()) ended_.emplace_hint(ended_.end(), track.updated_at, slot);
}

void Tracks::leave(Slot slot) {
  const Stored& track = tracks_[slot];
  CHECK(track.record_bytes <= record_bytes_);
  record_bytes_ -= track.record_bytes;
  log_.remove(slot);
  if (track.has_ended()) ended_.erase({track.updated_at, slot});
}

// ---- writing once a batch -----------------------------------------------------------------------

void Tracks::set(TrackChanged&& record) {
  const Slot slot = change(record);
  Stored& track = tracks_[slot];
  if (track.is_unwritten) return;
  track.is_unwritten = true;
  unwritten_.push_back(slot);
  unwritten_bytes_ += track.record_bytes;
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
    ++count;
  }
  unwritten_.clear();
  unwritten_bytes_ = 0;
  return count;
}

// ---- as a live kind -----------------------------------------------------------------------------

void Tracks::rewrite_oldest(std::string& batch) {
  const Slot slot = log_.oldest().value();
  encode(record_of(tracks_[slot]), batch);
  leave(slot);
  enter(slot);
}

}  // namespace millrace
