#include "server/turn/cleaner.hpp"

#include <algorithm>
#include <utility>

namespace millrace::server {

Cleaner::Orders Cleaner::begin_turn() {
  log_ = journal_.extent();
  is_full_ = journal_.is_full();
  bytes_max_ = journal_.bytes_max();
  orders_.intake = intake();
  orders_.holds_others = must_go_first();
  return orders_;
}

bool Cleaner::is_too_long() const {
  const std::uint64_t needed = ledger_.live_bytes();
  return log_.end - log_.begin > needed + needed / 2 + 2 * log_.piece_bytes;
}

/// What is obsolete is worth more then than what it costs to be rid of it: whenever half a piece of
/// it has come together, the whole log is gone through once.
bool Cleaner::is_worth_it_when_full() {
  if (log_.is_shared) return false;
  if (round_end_ != 0 && log_.begin >= round_end_) {
    round_end_ = 0;
    round_from_ = log_.end;
    // What ended during the round is obsolete behind it, and goes with the next one.
    const std::uint64_t ended = round_live_ - std::min(round_live_, ledger_.live_bytes());
    slack_left_ = slack() - std::min(slack(), ended);
    return false;
  }
  const bool is_due = slack() > slack_left_ + log_.piece_bytes / 2 || orders_.holds_others;
  if (round_end_ == 0 && is_due) {
    round_end_ = log_.end;
    round_live_ = ledger_.live_bytes();
  }
  return round_end_ != 0;
}

std::uint64_t Cleaner::slack() const {
  const std::uint64_t length = log_.end - log_.begin;
  return length - std::min(length, ledger_.live_bytes());
}

/// Where a round would bring nothing, it is of no use to keep others from what is left.
bool Cleaner::must_go_first() const {
  if (!is_full_ || log_.oldest_end == log_.begin || log_.is_shared) return false;
  const std::uint64_t piece_bytes = std::max(log_.piece_bytes, log_.oldest_end - log_.begin);
  const bool has_room = room_left() >= piece_bytes + piece_bytes / 4 + kTurnBytes;
  if (has_room && orders_.intake != Intake::kEndings) return false;
  return round_end_ != 0 || slack() > slack_left_ + log_.piece_bytes / 4 || is_due_when_tight();
}

/// What is needed counts before it is written: jobs that connections have reserved will say so when
/// they are written again. Where that hides what is obsolete, what was written since tells.
bool Cleaner::is_due_when_tight() const {
  return orders_.intake == Intake::kEndings && log_.end - round_from_ > log_.piece_bytes / 4;
}

/// Where the disk is full, in small batches, that leave little of a piece unused. Else what the
/// clients' share asks for, and beside it no more than they would not notice behind it: they wait
/// for the disk as long as for all that stands before them.
std::uint64_t Cleaner::share() const {
  if (!is_full_) {
    const std::uint64_t due = kCleanPace * ledger_.batch_bytes();
    return is_ahead() ? due : std::max(kCleanBytesMin, due);
  }
  if (is_ahead()) return 0;
  const std::uint64_t small = std::max(kSmallBatchBytes, log_.piece_bytes / kBatchesOfPiece);
  return std::max(kSmallBatchBytes, std::min(small, room_left() / kCleanPart));
}

bool Cleaner::is_ahead() const {
  const std::uint64_t waiting = log_.end - std::min(log_.end, journal_.durable());
  if (!is_full_) return waiting > kCleanBytesMin;
  return waiting > std::min(kCleanBytesAhead, room_left() / kCleanPart);
}

/// When all is written that was decided on.
std::uint64_t Cleaner::room_left() const {
  const std::uint64_t taken = log_.end - log_.begin + ledger_.batch_bytes();
  return bytes_max_ - std::min(bytes_max_, taken);
}

/// Only when what replaces it is durable: so the journal can remove it at once, even where it waits
/// for the very room to write the next batch. And not while a backup has it, on a full disk: its
/// room would be free when the backup goes, and somebody else's.
Cleaner::Next Cleaner::trim() {
  if (log_.is_shared) return Next::kNothing;
  if (trim_after_ == 0) trim_after_ = log_.end;
  if (journal_.durable() < trim_after_) return Next::kDurable;
  journal_.trim(trim_to_);
  freed_pieces_ += log_.pieces - journal_.extent().pieces;
  trim_to_ = trim_after_ = 0;
  return Next::kTurn;
}

/// Beside what is needed there must be room to write all of it once more, piece by piece. While the
/// oldest piece is shared, what is left is all that there is; and it must do when it no longer is.
Intake Cleaner::intake() const {
  if (!is_full_) return Intake::kEverything;
  const std::uint64_t needed = ledger_.live_bytes() + slack_left_;
  const std::uint64_t room =
      log_.is_shared ? room_left() : bytes_max_ - std::min(bytes_max_, needed);
  const std::uint64_t for_round = kRoundPieces * log_.piece_bytes;
  if (room < for_round) return Intake::kEndings;
  const bool takes_longer = room >= for_round + log_.piece_bytes / kLongerPart;
  return takes_longer ? Intake::kNoJobs : Intake::kNothingLonger;
}

/// Who was held goes on in a further turn, when there is nothing more to do.
Cleaner::Next Cleaner::work() {
  const Next next = clean();
  return next == Next::kNothing && orders_.holds_others ? Next::kTurn : next;
}

Cleaner::Next Cleaner::clean() {
  if (trim_to_ != 0) return trim();
  if (log_.oldest_end == log_.begin) return Next::kNothing;
  const Lsn needed = std::min(ledger_.oldest_needed(), log_.end);
  if (needed >= log_.oldest_end) {
    // The totals stand in every batch that changed them, and so perhaps only in what goes.
    ledger_.write_totals();
    trim_to_ = needed;
    return Next::kTurn;
  }
  if (!is_full_) {
    round_end_ = slack_left_ = 0;
    round_from_ = log_.end;
  }
  const bool is_worth_it = is_full_ ? is_worth_it_when_full() : is_too_long();
  if (!is_worth_it) return Next::kNothing;
  const std::uint64_t bytes = share();
  if (bytes == 0) return Next::kDurable;
  ledger_.rewrite(log_.oldest_end, bytes);
  return Next::kTurn;
}

}  // namespace millrace::server
