#include "server/turn/commit_queue.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "core/ports/session.hpp"

namespace millrace::server {

void CommitQueue::append_batch() {
  if (!parts_.ledger.has_batch()) return;
  CHECK(epoch_.has_value());
  const auto span = parts_.journal.append(*epoch_, parts_.ledger.take_batch());
  if (!span) {
    is_deposed_ = true;
    return;
  }
  CHECK(span->begin >= end_ && span->end > span->begin);
  parts_.ledger.place(span->begin);
  end_ = span->end;
  appended_.push_back({.end = end_, .at = parts_.clock.now()});
  note_durable(durable());
  measure_lag();
}

void CommitQueue::lead(Epoch epoch) {
  CHECK(!epoch_ && parts_.journal.epoch() == epoch);
  epoch_ = epoch;
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
    waits_.add(now - appended_.front().at);
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

void CommitQueue::wait(Responder& responder) {
  if (waiting_.empty() || waiting_.back().lsn != end_) {
    CHECK(waiting_.empty() || waiting_.back().lsn < end_);
    waiting_.push_back({.lsn = end_, .responders = {}});
    if (!spare_lists_.empty()) {
      waiting_.back().responders = std::move(spare_lists_.back());
      spare_lists_.pop_back();
    }
  }
  waiting_.back().responders.add(responder);
}

void CommitQueue::forget(const Responder& responder) {
  for (Waiting& waiting : waiting_) waiting.responders.remove(responder);
}

void CommitQueue::send_durable() {
  const Lsn until = durable();
  note_durable(until);
  measure_lag();
  while (!waiting_.empty() && waiting_.front().lsn <= until) {
    // The group stays in place while its members are called, so that `forget` finds them.
    CallList<Responder>& responders = waiting_.front().responders;
    responders.call_each([until](Responder& responder) { responder.send_durable(until); });
    responders.clear();
    spare_lists_.push_back(std::move(responders));
    waiting_.pop_front();
  }
}

}  // namespace millrace::server
