#include "server/cleaner.hpp"

#include <algorithm>
#include <utility>

namespace millrace::server {

bool Cleaner::is_too_long(const Journal::Extent& log) const {
  const std::uint64_t needed = broker_.live_bytes();
  return log.end - log.begin > needed + needed / 2 + 2 * log.piece_bytes;
}

/// What is obsolete is worth more then than what it costs to be rid of it: whenever half a piece of
/// it has come together, the whole log is gone through once.
bool Cleaner::is_worth_it_when_full(const Journal::Extent& log) {
  if (log.is_shared) return false;
  if (round_end_ != 0 && log.begin >= round_end_) {
    round_end_ = 0;
    round_from_ = log.end;
    slack_left_ = slack(log);
  }
  const bool is_due = slack(log) > slack_left_ + log.piece_bytes / 2 || must_go_first();
  if (round_end_ == 0 && is_due) round_end_ = log.end;
  return round_end_ != 0;
}

std::uint64_t Cleaner::slack(const Journal::Extent& log) const {
  const std::uint64_t length = log.end - log.begin;
  return length - std::min(length, broker_.live_bytes());
}

/// Where a round would bring nothing, it is of no use to keep others from what is left.
bool Cleaner::must_go_first() const {
  if (!journal_.is_full()) return false;
  const Journal::Extent log = journal_.extent();
  if (log.oldest_end == log.begin || log.is_shared) return false;
  const std::uint64_t piece_bytes = std::max(log.piece_bytes, log.oldest_end - log.begin);
  const bool has_room = room_left(log) >= piece_bytes + piece_bytes / 4 + kTurnBytes;
  if (has_room && intake() != Intake::kEndings) return false;
  return round_end_ != 0 || slack(log) > slack_left_ + log.piece_bytes / 4 ||
         is_due_when_tight(log);
}

/// What is needed counts before it is written: jobs that connections have reserved will say so when
/// they are written again. Where that hides what is obsolete, what was written since tells.
bool Cleaner::is_due_when_tight(const Journal::Extent& log) const {
  return intake() == Intake::kEndings && log.end - round_from_ > log.piece_bytes / 4;
}

/// Where the disk is full, in small batches, that leave little of a piece unused.
std::uint64_t Cleaner::share(const Journal::Extent& log) const {
  if (!journal_.is_full()) return std::max(kCleanBytesMin, kCleanPace * broker_.batch_bytes());
  const std::uint64_t small = std::max(kSmallBatchBytes, log.piece_bytes / kBatchesOfPiece);
  return std::max(kSmallBatchBytes, std::min(small, room_left(log) / kCleanPart));
}

/// Where room is short, no more is asked for before that was written.
bool Cleaner::is_ahead(const Journal::Extent& log) const {
  if (!journal_.is_full()) return false;
  const std::uint64_t waiting = log.end - std::min(log.end, journal_.durable());
  return waiting > std::min(kCleanBytesAhead, room_left(log) / kCleanPart);
}

/// When all is written that was decided on.
std::uint64_t Cleaner::room_left(const Journal::Extent& log) const {
  const std::uint64_t taken = log.end - log.begin + broker_.batch_bytes();
  return journal_.bytes_max() - std::min(journal_.bytes_max(), taken);
}

/// Only when what replaces it is durable: so the journal can remove it at once, even where it waits
/// for the very room to write the next batch.
Cleaner::Next Cleaner::trim(const Journal::Extent& log) {
  if (trim_after_ == 0) trim_after_ = log.end;
  if (journal_.durable() < trim_after_) return Next::kDurable;
  journal_.trim(trim_to_);
  freed_pieces_ += log.pieces - journal_.extent().pieces;
  trim_to_ = trim_after_ = 0;
  return Next::kTurn;
}

/// What is left then is all that there is.
Intake Cleaner::intake_without_trim(std::uint64_t room, std::uint64_t piece_bytes) {
  if (room < piece_bytes) return Intake::kEndings;
  return room < kRoundPieces * piece_bytes ? Intake::kNothingLonger : Intake::kNoJobs;
}

/// Beside what is needed there must be room to write all of it once more, piece by piece.
Intake Cleaner::intake() const {
  if (!journal_.is_full()) return Intake::kEverything;
  const Journal::Extent log = journal_.extent();
  const std::uint64_t piece_bytes = log.piece_bytes;
  if (log.is_shared) return intake_without_trim(room_left(log), piece_bytes);
  const std::uint64_t needed = broker_.live_bytes() + slack_left_ + kRoundPieces * piece_bytes;
  if (journal_.bytes_max() < needed) return Intake::kEndings;
  const bool takes_longer = journal_.bytes_max() >= needed + piece_bytes / kLongerPart;
  return takes_longer ? Intake::kNoJobs : Intake::kNothingLonger;
}

Cleaner::Next Cleaner::work() {
  const Journal::Extent log = journal_.extent();
  if (trim_to_ != 0) return trim(log);
  if (log.oldest_end == log.begin) return Next::kNothing;
  const Lsn needed = std::min(broker_.oldest_needed(), log.end);
  if (needed >= log.oldest_end) {
    // The totals stand in every batch that changed them, and so perhaps only in what goes.
    broker_.write_totals();
    trim_to_ = needed;
    return Next::kTurn;
  }
  if (!journal_.is_full()) {
    round_end_ = slack_left_ = 0;
    round_from_ = log.end;
  }
  const bool is_worth_it = journal_.is_full() ? is_worth_it_when_full(log) : is_too_long(log);
  if (!is_worth_it) return Next::kNothing;
  if (is_ahead(log)) return Next::kDurable;
  broker_.rewrite(log.oldest_end, share(log));
  return Next::kTurn;
}

}  // namespace millrace::server
