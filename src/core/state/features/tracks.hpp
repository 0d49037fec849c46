#pragma once

#include <absl/container/btree_set.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/slab.hpp"
#include "base/text_map.hpp"
#include "core/model/features/track.hpp"
#include "core/model/record.hpp"
#include "core/state/live_kind.hpp"
#include "core/state/live_records.hpp"
#include "core/state/slot_index.hpp"

namespace millrace {

/// What clients have told of jobs, and how tracked jobs have ended, by the name of the job. A job
/// that is in memory, and of which nobody has told anything, has no track.
class Tracks : public LiveRecords<Tracks> {
 public:
  /// Null when there is none of that name.
  [[nodiscard]] const Track* find(std::string_view jid) const { return find(jid, TextHash{}(jid)); }
  /// The same where the name's `TextHash` is known.
  [[nodiscard]] const Track* find(std::string_view jid, std::size_t hash) const;
  [[nodiscard]] std::size_t size() const { return tracks_.size(); }

  /// Those whose jobs have ended, the one first that was written the longest ago.
  using Ended = absl::btree_set<std::pair<Time, Slot>>;
  [[nodiscard]] const Ended& ended() const { return ended_; }
  [[nodiscard]] const Track& at(Slot slot) const { return tracks_[slot]; }

  /// Null when the slot is free. Slots in use are below `slot_end`.
  [[nodiscard]] const Track* in_slot(Slot slot) const { return tracks_.find(slot); }
  [[nodiscard]] Slot slot_end() const { return tracks_.end(); }

  /// About what they take in memory.
  [[nodiscard]] std::size_t memory_bytes() const;

  // ---- writing once a batch ---------------------------------------------------------------------

  /// Applies the record. It is written with the batch, as it is then: a worker may tell of its
  /// progress a thousand times in between.
  void set(TrackChanged&& record, std::size_t hash);
  [[nodiscard]] bool has_unwritten() const { return !unwritten_.empty(); }
  /// About how many bytes `write` appends.
  [[nodiscard]] std::size_t unwritten_bytes() const { return unwritten_bytes_; }
  std::size_t write(std::string& batch);

  // ---- as a live kind ---------------------------------------------------------------------------

  void apply(TrackChanged&& record);
  /// Of a track that is not there, this does nothing.
  void apply(TrackRemoved&& record);
  static constexpr AtFlush kAtFlush = AtFlush::kRemoved;

 private:
  friend LiveRecords;
  struct Stored : Track {
    LogNode log;
    bool is_in_log = false;
    bool is_unwritten = false;  ///< it is in `unwritten_`
  };
  struct KeyOf {
    std::string_view operator()(const Stored& stored) const { return stored.jid; }
    static std::size_t hash(std::string_view jid) { return TextHash{}(jid); }
  };

  [[nodiscard]] LogNode& node_of(Slot slot) { return tracks_[slot].log; }
  [[nodiscard]] TrackChanged record_in(Slot slot) const;
  /// The slot of the track that has these values now. It is not among what the log holds.
  Slot change(const TrackChanged& record, std::size_t hash);
  void enter_log(Slot slot);
  void leave_log(Slot slot);

  Slab<Stored> tracks_;
  SlotIndex<Stored, KeyOf> slots_{tracks_};
  Ended ended_;
  std::vector<Slot> unwritten_;  ///< perhaps freed, or used again, since
  std::size_t unwritten_bytes_ = 0;
};

/// All that is stored of a track. The texts are views of the track's.
[[nodiscard]] TrackChanged record_of(const Track& track);

}  // namespace millrace
