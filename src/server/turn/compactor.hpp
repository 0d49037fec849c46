#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "core/ports/journal.hpp"
#include "core/ports/session.hpp"
#include "core/state/ledger.hpp"
#include "server/turn/full_disk.hpp"

namespace millrace::server {

/// Compaction: keeps the log short. Writes what is still needed of the oldest segments once more at
/// the end of the log, a little in each turn. Trims a segment as soon as what replaces it is
/// durable, and meanwhile goes on with the next ones.
///
/// What is durable of the log stays shorter than twice what a log without anything obsolete would
/// need, plus four segments, whatever clients do. The files may be longer by what the journal
/// writes before it hears of a trim: twice `kUndurableBytesMax`, and what it appends in a turn.
/// `FullDisk` says what holds on a full disk instead.
class Compactor {
 public:
  /// Both must outlive it.
  Compactor(Ledger& ledger, Journal& journal)
      : ledger_(ledger), journal_(journal), full_disk_(ledger, journal) {}

  /// Which turn compaction needs, though no client asks for one.
  enum class Next {
    kNothing,
    kTurn,     ///< another turn soon
    kDurable,  ///< a turn when more has become durable
  };

  /// What holds from one look at the log to the next: for what is due and compaction in this turn,
  /// and for the commands that the next turn receives.
  struct Limits {
    /// Which commands are accepted.
    Admission admission = Admission::kEverything;
    /// Only the compactor may write: it needs the rest of a full disk.
    bool is_compacting_only = false;
  };

  /// Looks at the log. To be called once a turn, when its input was executed.
  Limits look_at_log();

  /// Does the turn's share, or the part of it that one batch should hold. To be called after
  /// everything else that the turn records, and before its batch is taken.
  Next work();

  /// The rest of the share: to be called for once more, when that batch has been appended.
  [[nodiscard]] bool owes() const { return owed_bytes_ > 0; }

  /// How many segments were removed since the process began.
  [[nodiscard]] std::uint64_t removed_segments() const { return removed_segments_; }

 private:
  /// A trim that was decided on.
  struct Trim {
    Lsn to;                    ///< nothing before it is needed
    std::optional<Lsn> after;  ///< where what replaces it ends; nullopt: still in the batch
  };

  [[nodiscard]] Lsn begin() const;
  [[nodiscard]] Lsn oldest_end() const;
  [[nodiscard]] bool is_only_segment() const { return oldest_end() <= begin(); }
  [[nodiscard]] bool heals() const;
  [[nodiscard]] bool is_too_long() const;
  [[nodiscard]] std::uint64_t share() const;
  Next compact();
  Next rewrite();
  [[nodiscard]] bool decide_trim();
  void trim();

  Ledger& ledger_;
  Journal& journal_;
  FullDisk full_disk_;
  Journal::Extent log_;  ///< as it was at the last look
  Limits limits_;
  std::deque<Trim> trims_;           ///< oldest first; there are no more than segments
  std::uint64_t counted_bytes_ = 0;  ///< of the records written, when the last share was done
  std::uint64_t owed_bytes_ = 0;     ///< to be written for what clients wrote
  std::uint64_t removed_segments_ = 0;
};

/// Compaction begins when the log is half as long again as what is needed, and two segments. Then
/// it writes twice as many bytes as the clients do. In the worst case all that is needed is
/// before the first obsolete byte; it has been written once more when the log is twice as long as
/// what is needed.
inline constexpr std::uint64_t kCompactionPace = 2;

/// It adds no more than this to a batch, and one record.
inline constexpr std::uint64_t kCompactionBytesMax = kCompactionPace * kBatchBytesPause;

/// A turn writes at least this much, so that compaction comes to an end without clients too; except
/// while more than that still waits for the disk.
inline constexpr std::uint64_t kCompactionBytesMin = std::uint64_t{64} << 10;

}  // namespace millrace::server
