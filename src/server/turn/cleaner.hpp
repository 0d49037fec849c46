#pragma once

#include <cstddef>
#include <cstdint>

#include "core/ports/journal.hpp"
#include "core/ports/session.hpp"
#include "core/state/ledger.hpp"

namespace millrace::server {

/// Keeps the log short: writes what is still needed of its oldest piece once more at its end, a
/// little in each turn, and lets the piece go. So it stays below twice what a log without anything
/// obsolete would need, and four pieces, whatever clients do.
class Cleaner {
 public:
  Cleaner(Ledger& ledger, Journal& journal) : ledger_(ledger), journal_(journal) {}

  /// What it asks for, though nothing else happens.
  enum class Next {
    kNothing,
    kTurn,     ///< another turn
    kDurable,  ///< a turn when more has become durable
  };

  /// What holds for a turn.
  struct Orders {
    /// What may be taken on, so that what ends jobs can always be written, and the log be cleaned.
    Intake intake = Intake::kEverything;
    /// Nobody else may write: the disk is full, and what is left of it is needed to clean the log,
    /// by which there will be more again.
    bool holds_others = false;
  };

  /// Looks at the journal, once for the turn.
  Orders begin_turn();

  /// The turn's share. To be called before its batch is taken.
  Next work();

  /// Pieces let go since the process began.
  [[nodiscard]] std::uint64_t freed_pieces() const { return freed_pieces_; }

 private:
  [[nodiscard]] bool must_go_first() const;
  [[nodiscard]] Intake intake() const;
  [[nodiscard]] bool is_too_long() const;
  [[nodiscard]] bool is_worth_it_when_full();
  [[nodiscard]] bool is_due_when_tight() const;
  [[nodiscard]] std::uint64_t slack() const;
  [[nodiscard]] std::uint64_t room_left() const;
  [[nodiscard]] std::uint64_t share() const;
  [[nodiscard]] bool is_ahead() const;

  Next clean();
  Next trim();

  Ledger& ledger_;
  Journal& journal_;

  // As the turn began.
  Journal::Extent log_;
  bool is_full_ = false;
  std::uint64_t bytes_max_ = 0;
  Orders orders_;

  Lsn trim_to_ = 0;     ///< 0: nothing; else when all that replaces it is durable
  Lsn trim_after_ = 0;  ///< where that ends; 0: its batch was not taken yet
  std::uint64_t freed_pieces_ = 0;

  // Of the rounds through the whole log that a full disk is worth.
  Lsn round_end_ = 0;             ///< 0: none is on
  Lsn round_from_ = 0;            ///< where the log ended after the last one, or when it was full
  std::uint64_t round_live_ = 0;  ///< what was needed when the present one began
  std::uint64_t slack_left_ = 0;  ///< what the last one found no way to be rid of
};

/// Cleaning begins at three halves of what is needed, and two pieces, and then writes twice as much
/// as the clients do: at worst all that is needed stands before the first obsolete byte, and has
/// been written once more when the log is twice as long as what is needed.
inline constexpr std::uint64_t kCleanPace = 2;

/// So many pieces are kept back for when the disk is full (`FileJournalOptions::spare_segments`).
inline constexpr std::uint64_t kSparePieces = 3;

/// And so many of them so that the log can be gone through, whatever is needed of it: a piece is
/// written once more before it goes, clients leave half a piece before a round begins, and as much
/// while it lasts. What is over is for what makes jobs longer.
inline constexpr std::uint64_t kRoundPieces = 2;

/// This part of a piece more, and jobs may become longer: below, it is for reservations.
inline constexpr std::uint64_t kLongerPart = 4;

/// While others may write too, that much stays free beside a piece and a quarter.
inline constexpr std::uint64_t kTurnBytes = kBatchBytesPause;

/// On a full disk so much waits for the disk at most before a turn writes more, and no more than
/// this part of what is left, or one job.
inline constexpr std::uint64_t kCleanBytesAhead = std::uint64_t{4} << 20;
inline constexpr std::uint64_t kCleanPart = 4;

/// What a turn writes then: this part of a piece, or so many bytes.
inline constexpr std::uint64_t kBatchesOfPiece = 256;
inline constexpr std::uint64_t kSmallBatchBytes = std::uint64_t{16} << 10;

/// What a turn writes at least while there is room, so that it comes to an end without clients too;
/// unless more than that still waits for the disk.
inline constexpr std::uint64_t kCleanBytesMin = std::uint64_t{64} << 10;

}  // namespace millrace::server
