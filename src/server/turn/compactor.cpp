#include "server/turn/compactor.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace millrace::server {

Compactor::Limits Compactor::look_at_log() {
  log_ = journal_.extent();
  CHECK(log_.begin <= log_.oldest_end && log_.oldest_end <= log_.end);
  full_disk_.look_at_disk(log_);
  limits_ = {.admission = full_disk_.admission(),
             .is_compacting_only = full_disk_.is_compacting_only()};
  return limits_;
}

/// What is before this is obsolete, and is trimmed when what replaces it is durable.
Lsn Compactor::begin() const {
  return trims_.empty() ? log_.begin : trims_.back().to;
}

/// Where the first segment after that ends; `begin` when there is only one. The places of segments
/// between the first and the last are the journal's alone.
Lsn Compactor::oldest_end() const {
  return trims_.empty() ? log_.oldest_end
                        : std::min(begin() + log_.segment_bytes, log_.newest_begin);
}

/// What is damaged there is in no place that is needed when all before its end was written anew: so
/// the next start does not meet it.
bool Compactor::heals() const {
  const Lsn damage_end = ledger_.store().jobs().bodies().damage_end();
  return damage_end > begin() && journal_.leave_behind(damage_end);
}

bool Compactor::is_too_long() const {
  const std::uint64_t needed = ledger_.live_bytes();
  return log_.end - begin() > needed + needed / 2 + 2 * log_.segment_bytes;
}

/// What the clients' share asks for. Beyond that no more than clients would notice: their batches
/// become durable after everything that was written before them.
std::uint64_t Compactor::share() const {
  const std::uint64_t due = std::min(owed_bytes_, kCompactionBytesMax);
  const std::uint64_t waiting = log_.end - std::min(log_.end, journal_.durable());
  return waiting > kCompactionBytesMin ? due : std::max(kCompactionBytesMin, due);
}

/// Waits until what replaces a segment is durable. So the journal can remove it at once, even while
/// it waits for that very room to write the next batch.
void Compactor::trim() {
  // The batch at hand at that time has been appended since.
  if (!trims_.back().after) trims_.back().after = log_.end;
  std::optional<Lsn> to;
  for (const Lsn durable = journal_.durable(); !trims_.empty() && *trims_.front().after <= durable;
       trims_.pop_front()) {
    to = trims_.front().to;
  }
  if (!to) return;
  CHECK(*to <= log_.end);
  removed_segments_ += journal_.trim(*to);
  log_ = journal_.extent();
}

/// True: more is obsolete now than is to be removed already.
bool Compactor::decide_trim() {
  const Lsn needed = std::min(ledger_.oldest_needed().value_or(log_.end), log_.end);
  if (is_only_segment() || needed < oldest_end()) return false;
  trims_.push_back({.to = needed, .after = std::nullopt});
  return true;
}

Compactor::Next Compactor::work() {
  // More may have been appended since the look.
  log_ = journal_.extent();
  const std::uint64_t written = ledger_.bytes_written() - counted_bytes_;
  owed_bytes_ += kCompactionPace * written;
  full_disk_.count_written(written);
  const Next next = compact();
  counted_bytes_ = ledger_.bytes_written();
  // Clients that were held go on in a further turn, when there is nothing more to do.
  return next == Next::kNothing && limits_.is_compacting_only ? Next::kTurn : next;
}

Compactor::Next Compactor::compact() {
  const bool is_full = full_disk_.is_full();
  if (is_full) owed_bytes_ = 0;
  if (!trims_.empty()) {
    // A shared segment on a full disk stays: its room would become free only when the backup ends,
    // for any program to take.
    if (full_disk_.is_oldest_shared()) return Next::kNothing;
    trim();
    if (is_full) return trims_.empty() ? Next::kTurn : Next::kDurable;
  }
  // What the system fails to read now, it may read in a minute. A full disk cannot wait for that.
  const bool is_awaited = !is_full && ledger_.store().jobs().bodies().is_awaited();
  const bool has_decided = !is_awaited && decide_trim();
  // It has no room for the next segment before this one is gone.
  if (has_decided && is_full) return Next::kTurn;
  const Next next = is_awaited ? Next::kNothing : rewrite();
  if (next == Next::kNothing) owed_bytes_ = 0;
  if (has_decided) return Next::kTurn;
  return next == Next::kNothing && !trims_.empty() ? Next::kDurable : next;
}

Compactor::Next Compactor::rewrite() {
  const bool is_full = full_disk_.is_full();
  const bool has_damage = !is_full && heals();
  // The next batch begins another one.
  if (is_only_segment()) return has_damage && ledger_.has_batch() ? Next::kTurn : Next::kNothing;
  const bool is_due = is_full ? full_disk_.is_round_due() : has_damage || is_too_long();
  if (!is_due) return Next::kNothing;
  const std::uint64_t bytes = is_full ? full_disk_.share() : share();
  if (bytes == 0) return Next::kDurable;
  const std::size_t before = ledger_.batch_bytes();
  ledger_.rewrite(is_full ? log_.oldest_end : log_.newest_begin, bytes);
  owed_bytes_ -= std::min<std::uint64_t>(owed_bytes_, ledger_.batch_bytes() - before);
  return Next::kTurn;
}

}  // namespace millrace::server
