#include "server/turn/commit_queue.hpp"

#include <algorithm>
#include <asio/post.hpp>
#include <utility>

#include "base/check.hpp"

namespace millrace::server {

CommitQueue::CommitQueue(Parts parts, std::function<void(Time)> on_turn)
    : parts_(parts), on_turn_(std::move(on_turn)) {
  parts_.journal.on_durable([this] {
    if (is_wake_posted_.exchange(true)) return;
    asio::post(parts_.loop, [this] { on_durable(); });
  });
}

// The journal's thread must not post to a loop that is about to go.
CommitQueue::~CommitQueue() {
  parts_.journal.on_durable({});
}

void CommitQueue::introduce(Session& session, Participant& participant) {
  participants_.emplace(&session, &participant);
}

void CommitQueue::forget(Session& session, Participant& participant) {
  participants_.erase(&session);
  const auto clear = [&](std::vector<Participant*>& list) {
    std::replace(list.begin(), list.end(), &participant, static_cast<Participant*>(nullptr));
  };
  clear(enlisted_);
  clear(committing_);
  clear(held_);
  for (Waiting& waiting : waiting_) clear(waiting.members);
}

void CommitQueue::enlist(Participant& participant) {
  append_if_large();
  if (participant.is_enlisted_) return;
  participant.is_enlisted_ = true;
  enlisted_.push_back(&participant);
  schedule();
}

void CommitQueue::measure_lag() {
  const std::size_t lag = undurable_bytes();
  is_behind_ = lag > (is_behind_ ? kUndurableBytesLow : kUndurableBytesMax);
}

void CommitQueue::hold(bool is_held) {
  is_held_ = is_held;
  if (!is_behind() && std::exchange(has_held_, false)) release_held();
}

void CommitQueue::schedule() {
  if (std::exchange(is_scheduled_, true)) return;
  asio::post(parts_.loop, [this] {
    is_scheduled_ = false;
    turn();
  });
}

void CommitQueue::turn() {
  const Time now = parts_.clock.now();
  enlist_woken();
  // Those whom the following ones wake only hand over what they were given: they go on in the next
  // turn, so that sessions which serve each other cannot keep this one from ending.
  const std::size_t count = enlisted_.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (enlisted_[i] == nullptr) continue;
    enlisted_[i]->resume(now);
  }
  on_turn_(now);
  enlist_woken();
  append_batch();
  commit_members();
}

void CommitQueue::enlist_woken() {
  for (Session* session : parts_.broker.take_woken()) {
    const auto found = participants_.find(session);
    if (found != participants_.end()) enlist(*found->second);
  }
}

void CommitQueue::append_batch() {
  if (!parts_.ledger.has_batch()) return;
  const Journal::Span span = parts_.journal.append(parts_.ledger.take_batch());
  parts_.ledger.place(span.begin);
  end_ = span.end;
  appended_.push_back({.end = end_, .at = parts_.clock.now()});
  note_durable(parts_.journal.durable());
  measure_lag();
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
  return end_ - std::min(end_, parts_.journal.durable());
}

Duration CommitQueue::longest_wait(Time now) const {
  const Lsn durable = parts_.journal.durable();
  const auto oldest = std::find_if(appended_.begin(), appended_.end(),
                                   [&](const Appended& batch) { return batch.end > durable; });
  return oldest == appended_.end() ? Duration{} : now - oldest->at;
}

void CommitQueue::append_if_large() {
  if (parts_.ledger.batch_bytes() >= kBatchBytesPause) append_batch();
}

void CommitQueue::commit_members() {
  CHECK(committing_.empty());
  committing_.swap(enlisted_);
  for (Participant* member : committing_) {
    if (member != nullptr) member->is_enlisted_ = false;
  }
  if (is_behind()) hold_members();
  const Lsn durable = parts_.journal.durable();
  std::vector<Participant*> open;
  if (!spare_lists_.empty()) {
    open = std::move(spare_lists_.back());
    spare_lists_.pop_back();
  }
  // By index and looked up each time: a member that fails is forgotten, here too.
  for (std::size_t i = 0; i < committing_.size(); ++i) {
    if (committing_[i] == nullptr) continue;
    if (!committing_[i]->commit(end_, durable)) continue;
    if (committing_[i] != nullptr) open.push_back(committing_[i]);
  }
  committing_.clear();
  if (open.empty()) {
    spare_lists_.push_back(std::move(open));
  } else {
    waiting_.push_back({.lsn = end_, .members = std::move(open)});
  }
}

void CommitQueue::hold_members() {
  has_held_ = true;
  for (Participant* member : committing_) {
    if (member != nullptr) remind(*member);
  }
}

void CommitQueue::remind(Participant& participant) {
  has_held_ = true;
  if (!std::exchange(participant.is_held_, true)) held_.push_back(&participant);
}

void CommitQueue::release_held() {
  for (Participant* member : std::exchange(held_, {})) {
    if (member == nullptr) continue;
    member->is_held_ = false;
    enlist(*member);
  }
  // Others than clients may have waited too.
  schedule();
}

void CommitQueue::on_durable() {
  is_wake_posted_ = false;
  const Lsn durable = parts_.journal.durable();
  note_durable(durable);
  measure_lag();
  if (!is_behind() && std::exchange(has_held_, false)) release_held();
  if (std::exchange(is_durable_awaited_, false)) schedule();
  // There may be room again, or no more.
  if (is_full(parts_.journal) || parts_.broker.refuses_jobs()) schedule();
  while (!waiting_.empty() && waiting_.front().lsn <= durable) {
    // Taken out member by member while the group stays in place, so that `forget` finds them.
    std::vector<Participant*>& members = waiting_.front().members;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (members[i] != nullptr) members[i]->send(durable);
    }
    members.clear();
    spare_lists_.push_back(std::move(members));
    waiting_.pop_front();
  }
}

}  // namespace millrace::server
