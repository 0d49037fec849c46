#include "server/turn/commit_queue.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

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

void CommitQueue::wait(Responder& responder, Lsn lsn) {
  if (lsn > hurried_end_) hurry();
  Waiting& group = group_of(lsn);
  responder.waits_at_.push_back({.lsn = group.lsn, .index = group.responders.add(responder)});
}

bool CommitQueue::has_many_waiting() const {
  std::size_t count = 0;
  for (const Waiting& waiting : waiting_) count += waiting.responders.size();
  return count > kFewWaiting;
}

/// Those that wait for the batch in which `lsn` is, or which ends there. It is one of the last, or
/// durable: then the lease is waited for.
CommitQueue::Waiting& CommitQueue::group_of(Lsn lsn) {
  auto batch = appended_.end();
  while (batch != appended_.begin() && std::prev(batch)->end >= lsn) --batch;
  const Lsn end = batch == appended_.end() ? lsn : batch->end;
  auto group = waiting_.end();
  while (group != waiting_.begin() && std::prev(group)->lsn >= end) --group;
  if (group != waiting_.end() && group->lsn == end) return *group;
  CallList<Responder> responders;
  if (!spare_lists_.empty()) {
    responders = std::move(spare_lists_.back());
    spare_lists_.pop_back();
  }
  return *waiting_.insert(group, {.lsn = end, .responders = std::move(responders)});
}

void CommitQueue::forget(Responder& responder) {
  for (const Responder::Place& place : responder.waits_at_) {
    const auto group = std::ranges::lower_bound(waiting_, place.lsn, {}, &Waiting::lsn);
    CHECK(group != waiting_.end() && group->lsn == place.lsn);
    group->responders.remove_at(place.index);
  }
  responder.waits_at_.clear();
}

void CommitQueue::send_durable() {
  note_durable(durable());
  measure_lag();
  const Lsn until = answerable();
  while (!waiting_.empty() && waiting_.front().lsn <= until) {
    // The group stays in place while its members are called, so that `forget` finds them.
    CallList<Responder>& responders = waiting_.front().responders;
    const Lsn lsn = waiting_.front().lsn;
    responders.call_each([until, lsn](Responder& responder) {
      // Once for each time that it is in the group.
      auto& places = responder.waits_at_;
      places.erase(std::ranges::find(places, lsn, &Responder::Place::lsn));
      responder.send_durable(until);
    });
    responders.clear();
    spare_lists_.push_back(std::move(responders));
    waiting_.pop_front();
  }
}

}  // namespace millrace::server
