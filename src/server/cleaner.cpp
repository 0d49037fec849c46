#include "server/cleaner.hpp"

#include <algorithm>
#include <utility>

namespace millrace::server {

bool Cleaner::is_too_long(const Journal::Extent& log) const {
  const std::uint64_t needed = broker_.live_bytes();
  return log.end - log.begin > needed + needed / 2 + 2 * log.piece_bytes;
}

/// What is obsolete is worth more then than what it costs to be rid of it: so the whole log is gone
/// through once, and again when another piece has become obsolete.
bool Cleaner::is_worth_it_when_full(const Journal::Extent& log) {
  const std::uint64_t needed = broker_.live_bytes();
  if (round_end_ == 0 || needed + log.piece_bytes < needed_at_round_) {
    round_end_ = log.end;
    needed_at_round_ = needed;
  }
  return log.begin < round_end_ && log.end - log.begin > needed + log.piece_bytes;
}

bool Cleaner::work() {
  if (trim_to_ != 0) {
    const std::size_t before = journal_.extent().pieces;
    journal_.trim(std::exchange(trim_to_, 0));
    freed_pieces_ += before - journal_.extent().pieces;
  }
  const Journal::Extent log = journal_.extent();
  if (log.oldest_end == log.begin) return false;
  const Lsn needed = std::min(broker_.oldest_needed(), log.end);
  if (needed >= log.oldest_end) {
    // The totals stand in every batch that changed them, and so perhaps only in what goes.
    broker_.write_totals();
    trim_to_ = needed;
    return true;
  }
  if (!journal_.is_full()) round_end_ = 0;
  if (!is_too_long(log) && !(journal_.is_full() && is_worth_it_when_full(log))) return false;
  broker_.rewrite(log.oldest_end,
                  std::max<std::size_t>(kCleanBytesMin, kCleanPace * broker_.batch_bytes()));
  return true;
}

}  // namespace millrace::server
