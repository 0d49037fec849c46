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

/// What is damaged there is in no place that is needed when all before its end was written anew: so
/// the next start does not meet it.
bool Compactor::heals() const {
  const Lsn damage_end = ledger_.store().jobs().bodies().damage_end();
  return damage_end > log_.begin && journal_.leave_behind(damage_end);
}

bool Compactor::is_too_long() const {
  const std::uint64_t needed = ledger_.live_bytes();
  return log_.end - log_.begin > needed + needed / 2 + 2 * log_.segment_bytes;
}

/// What the clients' share asks for. Beyond that no more than clients would notice: their batches
/// become durable after everything that was written before them.
std::uint64_t Compactor::share() const {
  const std::uint64_t due = kCompactionPace * ledger_.batch_bytes();
  const std::uint64_t waiting = log_.end - std::min(log_.end, journal_.durable());
  return waiting > kCompactionBytesMin ? due : std::max(kCompactionBytesMin, due);
}

/// Waits until what replaces the segment is durable. So the journal can remove it at once, even
/// while it waits for that very room to write the next batch. And a shared segment on a full disk
/// stays: its room would become free only when the backup ends, for any program to take.
Compactor::Next Compactor::trim() {
  if (full_disk_.is_oldest_shared()) return Next::kNothing;
  if (!trim_->after) trim_->after = log_.end;
  if (journal_.durable() < *trim_->after) return Next::kDurable;
  CHECK(trim_->to <= log_.end);
  removed_segments_ += journal_.trim(trim_->to);
  trim_.reset();
  return Next::kTurn;
}

Compactor::Next Compactor::work() {
  const Next next = compact();
  // Clients that were held go on in a further turn, when there is nothing more to do.
  return next == Next::kNothing && limits_.is_compacting_only ? Next::kTurn : next;
}

Compactor::Next Compactor::compact() {
  if (trim_) return trim();
  // What the system fails to read now, it may read in a minute. A full disk cannot wait for that.
  if (!full_disk_.is_full() && ledger_.store().jobs().bodies().is_awaited()) return Next::kNothing;
  const bool has_damage = !full_disk_.is_full() && heals();
  const bool is_only_segment = log_.oldest_end == log_.begin;
  // The next batch begins another one.
  if (is_only_segment) return has_damage && ledger_.has_batch() ? Next::kTurn : Next::kNothing;
  const Lsn needed = std::min(ledger_.oldest_needed().value_or(log_.end), log_.end);
  if (needed >= log_.oldest_end) {
    trim_ = Trim{.to = needed, .after = std::nullopt};
    return Next::kTurn;
  }
  const bool is_due =
      full_disk_.is_full() ? full_disk_.is_round_due() : has_damage || is_too_long();
  if (!is_due) return Next::kNothing;
  const std::uint64_t bytes = full_disk_.is_full() ? full_disk_.share() : share();
  if (bytes == 0) return Next::kDurable;
  ledger_.rewrite(log_.oldest_end, bytes);
  return Next::kTurn;
}

}  // namespace millrace::server
