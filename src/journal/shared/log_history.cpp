#include "journal/shared/log_history.hpp"

#include <algorithm>
#include <utility>

namespace millrace::journal {

bool LogHistory::is_stray(const EntryHead& head) const {
  if (head.is_claim() || epoch_ == Epoch{}) return false;
  return Epoch{head.epoch} < epoch_ || head.sequence != end_ + 1;
}

std::optional<LogHistory::Misfit> LogHistory::note(const EntryHead& head) {
  if (log_ == 0) log_ = head.log;
  if (head.log != log_) return Misfit{.what = "belongs to another log"};
  const Epoch epoch{head.epoch};
  if (head.is_claim() ? epoch <= epoch_ : (epoch != epoch_ && epoch_ != Epoch{})) {
    return Misfit{.what = "is of a server that does not lead", .is_of_another_past = true};
  }
  if (!head.is_claim() && writer_ != 0 && head.writer != writer_) {
    return Misfit{.what = "is of another server than the one that leads",
                  .is_of_another_past = true};
  }
  epoch_ = epoch;
  writer_ = head.writer;
  if (head.is_claim()) note_takeover(head);
  latest_time_ = std::max(latest_time_, head.at);
  note_leader(head);
  return std::nullopt;
}

/// To be called before the head counts for `leader_` and `latest_time_`.
void LogHistory::note_takeover(const EntryHead& head) {
  Takeover takeover{.epoch = epoch_, .at = head.at, .from = {}, .to = head.node, .gap = {}};
  if (leader_) {
    takeover.from = leader_->node;
    takeover.was_handed_over = leader_->has_released;
    takeover.gap = std::max(head.at - latest_time_, Duration{});
  }
  if (takeovers_.size() == SharedJournal::kTakeoversMax) takeovers_.erase(takeovers_.begin());
  takeovers_.push_back(std::move(takeover));
}

void LogHistory::note_leader(const EntryHead& head) {
  if (!leader_ || leader_->epoch != epoch_) {
    leader_ = Leader{.epoch = epoch_, .node = {}, .notes = {}, .claimed_at = head.at};
  }
  if (!head.node.empty()) {
    leader_->node = head.node;
    leader_->notes = head.notes;
    leader_lease_ = std::chrono::milliseconds(head.lease_ms);
  }
  if (head.is_claim()) leader_->holds = head.kind == EntryHead::Kind::kHold;
  if (head.kind == EntryHead::Kind::kRelease) leader_->has_released = true;
}

}  // namespace millrace::journal
