#pragma once

#include <cstdint>
#include <optional>

#include "core/model/refusal.hpp"
#include "core/ports/journal.hpp"
#include "core/ports/session.hpp"
#include "core/state/ledger.hpp"

namespace millrace::server {

/// What a full disk means for a turn: which commands are accepted, when a round of compaction is
/// worth its room, and when it needs that room for itself.
///
/// A full disk has only the reserved segments left. Jobs must be able to end to the last one, and
/// for that the log must be rewritten again and again within them. So what jobs need may never fill
/// the room that a round takes. `Admission` sees to it, by the room that is left after what is
/// needed:
///
///                the disk         less than a round        less than
///                is full          and half a segment       a round
///     kEverything ─────▶ kNoJobs ──────────▶ kNoGrowth ──────────▶ kEndingsOnly
///          ▲                │  ◀──────────────  │  ◀────────────────  │
///          │                │     jobs ended    │      jobs ended     │
///          └────────────────┴───────────────────┴─────────────────────┘
///                  the reserve is whole again, and another segment fits
///
///     kNoJobs        jobs are reserved, buried and delayed, and fail with their error texts: all
///                    of that only makes records longer
///     kNoGrowth      jobs are still reserved, so workers can empty the queues
///     kEndingsOnly   a reservation is a record too: only what ends jobs or makes them ready
///
/// Fewer levels break promises of docs/operations/full-disk.md. Without `kNoJobs`, nothing can be
/// buried as soon as the disk is full. Without `kNoGrowth`, burying continues until nothing can be
/// reserved. Without `kEndingsOnly`, reservations may take the room of the round.
///
/// Nothing here writes: that is for the `Compactor`.
class FullDisk {
 public:
  /// Both must outlive it.
  FullDisk(const Ledger& ledger, const Journal& journal) : ledger_(ledger), journal_(journal) {}

  /// Looks at the disk. To be called once a turn, with the journal's extent. What follows holds
  /// until the next look.
  void look_at_disk(const Journal::Extent& log);

  [[nodiscard]] bool is_full() const { return is_full_; }

  /// On a full disk, a backup keeps the oldest segment, so compaction makes no room.
  [[nodiscard]] bool is_oldest_shared() const { return is_oldest_shared_; }

  /// Which commands are accepted.
  [[nodiscard]] Admission admission() const { return admission_; }

  /// Only compaction may write: it needs the room that is left, and will make more.
  [[nodiscard]] bool is_compacting_only() const { return is_compacting_only_; }

  /// To be called once a turn with what it wrote before compaction.
  void count_written(std::uint64_t bytes);

  /// While full: whether a round through the whole log is on, or due now.
  [[nodiscard]] bool is_round_due();

  /// While full: how much compaction may write in this turn.
  [[nodiscard]] std::uint64_t share() const;

 private:
  /// A round: everything needed that the log has at its start is written once more.
  struct Round {
    Lsn end = 0;                   ///< of the log when the round began
    std::uint64_t live_bytes = 0;  ///< what was needed then
    bool is_alone = false;         ///< nobody else has written since
  };

  [[nodiscard]] Admission decide_admission() const;
  [[nodiscard]] bool must_go_first() const;
  [[nodiscard]] bool is_due_when_tight() const;
  void end_round();
  [[nodiscard]] std::uint64_t slack() const;
  [[nodiscard]] std::uint64_t room_left() const;
  [[nodiscard]] bool is_ahead() const;

  const Ledger& ledger_;
  const Journal& journal_;

  // As it was at the last look.
  Journal::Extent log_;
  bool is_full_ = false;
  bool is_oldest_shared_ = false;
  std::uint64_t log_bytes_max_ = 0;
  Admission admission_ = Admission::kEverything;
  bool is_compacting_only_ = false;

  std::optional<Round> round_;
  Lsn idle_since_ = 0;  ///< where the log ended after the last round, or as the disk filled
  std::uint64_t slack_left_ = 0;  ///< obsolete bytes that the last round could not free
  /// Others wrote beside that round: some of those bytes it might free if it began now.
  bool is_slack_left_vague_ = false;
};

/// How many segments are reserved for a full disk (`FileJournalOptions::reserved_segments`).
inline constexpr std::uint64_t kReservedSegments = 3;

/// A round takes this many of them, whatever is needed of the log: one segment is written once more
/// before the old one is trimmed; clients leave half a segment before a round begins, and as much
/// while it lasts. The rest is for what makes jobs longer.
inline constexpr std::uint64_t kRoundSegments = 2;

/// With this part of a segment more, jobs may become longer. Below, it is for reservations.
inline constexpr std::uint64_t kLongerPart = 2;

/// While clients may write too, this much stays free besides a segment and a quarter.
inline constexpr std::uint64_t kTurnBytes = kBatchBytesPause;

/// While more than this waits for a full disk, or more than this part of the room that is left, a
/// turn writes nothing further.
inline constexpr std::uint64_t kFullBytesAhead = std::uint64_t{4} << 20;
inline constexpr std::uint64_t kRoomPart = 4;

/// Otherwise it writes this part of a segment, or so many bytes. Small batches leave little of a
/// segment's end unused.
inline constexpr std::uint64_t kBatchesPerSegment = 256;
inline constexpr std::uint64_t kSmallBatchBytes = std::uint64_t{16} << 10;

}  // namespace millrace::server
