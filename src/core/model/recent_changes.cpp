#include "core/model/recent_changes.hpp"

namespace millrace {

void RecentChanges::place(Lsn end) {
  if (!is_collecting_) return;
  ends_.push_back(end);
  is_collecting_ = false;
}

void RecentChanges::forget(Lsn durable) {
  while (!ends_.empty() && ends_.front() <= durable) {
    ends_.pop_front();
    ++first_;
  }
}

Lsn RecentChanges::end_of(JobId id) const {
  const std::uint64_t batch = batches_[id % kSlots];
  if (batch < first_) return 0;
  const std::uint64_t index = batch - first_;
  return index == ends_.size() ? kWholeLog : ends_[index];
}

}  // namespace millrace
