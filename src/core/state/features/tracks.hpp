#pragma once

#include <absl/container/btree_set.h>
#include <absl/container/flat_hash_set.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/slab.hpp"
#include "base/text_map.hpp"
#include "core/model/features/track.hpp"
#include "core/model/record.hpp"
#include "core/state/live_kind.hpp"
#include "core/state/log_order.hpp"

namespace millrace {

/// What clients have told of jobs, and how tracked jobs have ended, by the name of the job. A job
/// that is in memory, and of which nobody has told anything, has no track.
class Tracks {
 public:
  using Slot = std::uint32_t;

  Tracks() : shards_(kShards, Shard(0, HashOf{&tracks_}, EqualOf{&tracks_})) {}
  Tracks(const Tracks&) = delete;
  Tracks& operator=(const Tracks&) = delete;

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
  [[nodiscard]] std::optional<Lsn> oldest_place() const { return log_.oldest_place(); }
  void rewrite_oldest(std::string& batch);
  void place(Lsn begin) {
    log_.place(begin, [](Slot) {});
  }
  [[nodiscard]] std::uint64_t live_bytes() const { return record_bytes_; }
  static constexpr AtFlush kAtFlush = AtFlush::kRemoved;

 private:
  struct Stored : Track {
    LogNode log;
    std::uint32_t record_bytes = 0;  ///< in the log; 0: it is not there
    bool is_unwritten = false;       ///< it is in `unwritten_`
  };

  struct HashOf {
    using is_transparent = void;
    const Slab<Stored>* tracks;
    std::size_t operator()(std::string_view jid) const { return TextHash{}(jid); }
    std::size_t operator()(Slot slot) const { return TextHash{}((*tracks)[slot].jid); }
  };
  struct EqualOf {
    using is_transparent = void;
    const Slab<Stored>* tracks;
    [[nodiscard]] std::string_view name_of(std::string_view jid) const { return jid; }
    [[nodiscard]] std::string_view name_of(Slot slot) const { return (*tracks)[slot].jid; }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return name_of(a) == name_of(b);
    }
  };
  using Shard = absl::flat_hash_set<Slot, HashOf, EqualOf>;
  // In shards, since a table that grows moves all its entries.
  static constexpr std::size_t kShards = 256;

  /// By other bits than those by which the table sorts its entries.
  [[nodiscard]] static std::size_t shard_of(std::size_t hash) { return hash >> 56; }
  /// The slot of the track that has these values now. It is not among what the log holds.
  Slot change(const TrackChanged& record, std::size_t hash);
  void enter_log(Slot slot, std::size_t record_bytes);
  void leave_log(Slot slot);

  Slab<Stored> tracks_;
  std::vector<Shard> shards_;
  Ended ended_;
  std::vector<Slot> unwritten_;  ///< perhaps freed, or used again, since
  std::size_t unwritten_bytes_ = 0;

  struct NodeOf {
    Slab<Stored>* tracks;
    LogNode& operator()(Slot slot) const { return (*tracks)[slot].log; }
  };
  LogOrder<NodeOf> log_{NodeOf{&tracks_}};
  std::uint64_t record_bytes_ = 0;
};

/// All that is stored of a track. The texts are views of the track's.
[[nodiscard]] TrackChanged record_of(const Track& track);

}  // namespace millrace
