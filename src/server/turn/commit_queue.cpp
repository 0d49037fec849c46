#include "server/turn/commit_queue.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "core/ports/session.hpp"

namespace millrace::server {

void CommitQueue::append_batch() {
  if (!parts_.ledger.has_batch()) return;
  CHECK(epoch_.has_value());
  const bool is_unhurried =
      parts_.journal.durability() == Durability::kWhenSynced && !parts_.ledger.is_batch_awaited();
  const Time now = parts_.clock.now();
  parts_.ledger.record_clock(parts_.ledger.store().wall_clock().shown(now));
  const auto span = is_unhurried
                        ? parts_.journal.append_unhurried(*epoch_, parts_.ledger.take_batch())
                        : parts_.journal.append(*epoch_, parts_.ledger.take_batch());
  if (!span) {
    is_deposed_ = true;
    return;
  }
  CHECK(span->begin >= end_ && span->end > span->begin);
  parts_.ledger.place(span->begin);
  end_ = span->end;
  appended_.push_back({.end = end_, .at = now, .is_unhurried = is_unhurried});
  if (!is_unhurried) {
    hurried_end_ = end_;
    hurry_at_ = kNever;
  } else if (hurry_at_ == kNever) {
    hurry_at_ = now + kUnhurriedMax;
  }
  const Lsn until = durable();
  note_durable(until);
  parts_.ledger.note_durable(until);
  measure_lag();
}

void CommitQueue::lead(Epoch epoch) {
  CHECK(!epoch_ && parts_.journal.epoch() == epoch);
  epoch_ = epoch;
  // A reply that tells of nothing newer is bound to this.
  end_ = durable();
}

bool CommitQueue::leads() const {
  CHECK(epoch_.has_value());
  return !is_deposed_ && parts_.journal.epoch() == *epoch_;
}

void CommitQueue::append_if_large() {
  if (parts_.ledger.batch_bytes() >= kBatchBytesPause) append_batch();
}

void CommitQueue::append_if_durable_at_once() {
  if (parts_.journal.durability() == Durability::kWhenAppended) append_batch();
}

void CommitQueue::measure_lag() {
  const std::size_t lag = undurable_bytes();
  is_behind_ = lag > (is_behind_ ? kUndurableBytesLow : kUndurableBytesMax);
}

void CommitQueue::note_durable(Lsn durable) {
  if (appended_.empty() || appended_.front().end > durable) return;
  const Time now = parts_.clock.now();
  while (!appended_.empty() && appended_.front().end <= durable) {
    if (!appended_.front().is_unhurried) waits_.add(now - appended_.front().at);
    appended_.pop_front();
  }
}

std::size_t CommitQueue::undurable_bytes() const {
  return end_ - std::min(end_, durable());
}

Duration CommitQueue::longest_wait(Time now) const {
  const Lsn until = durable();
  const auto oldest = std::find_if(appended_.begin(), appended_.end(),
                                   [&](const Appended& batch) { return batch.end > until; });
  return oldest == appended_.end() ? Duration{} : now - oldest->at;
}

void CommitQueue::hurry() {
  if (hurry_at_ == kNever) return;
  parts_.journal.hurry();
  hurried_end_ = end_;
  hurry_at_ = kNever;
}

/// Replies that wait for the same batch, or for an earlier one than others before them, are counted
/// with those: how many wait is not asked more precisely.
void CommitQueue::await(Lsn lsn) {
  if (lsn <= answerable()) return;
  if (lsn > hurried_end_) hurry();
  ++waiting_count_;
  if (!waiting_.empty() && waiting_.back().lsn >= lsn) {
    ++waiting_.back().count;
  } else {
    waiting_.push_back({.lsn = lsn, .count = 1});
  }
}

void CommitQueue::look() {
  note_durable(durable());
  measure_lag();
  const Lsn until = answerable();
  while (!waiting_.empty() && waiting_.front().lsn <= until) {
    waiting_count_ -= waiting_.front().count;
    waiting_.pop_front();
  }
}

}  // namespace millrace::server
