#include "journal/shared/shared_log.hpp"

#include <algorithm>
#include <utility>

namespace millrace::journal {

Lsn SharedLog::Entry::batch_begin() const {
  return at + kEntryHeaderBytes;
}

Result<Lsn, SharedLog::AppendRefusal> SharedLog::append(Lsn expected_end, Epoch epoch,
                                                        std::string batch) {
  const Loss lost = loss ? loss() : Loss::kNone;
  if (lost == Loss::kRequest) return AppendRefusal::kUnknown;
  if (checks_expected_end && expected_end != end_) return AppendRefusal::kConflict;
  entries_.push_back({.at = end_, .epoch = epoch, .batch = std::move(batch)});
  end_ = entries_.back().end();
  epoch_ = std::max(epoch_, epoch);
  if (lost == Loss::kAnswer) return AppendRefusal::kUnknown;
  return end_;
}

void SharedLog::trim(Epoch epoch, Lsn before) {
  if (epoch != epoch_) return;
  while (!entries_.empty() && entries_.front().end() <= before) entries_.pop_front();
}

const SharedLog::Entry* SharedLog::find(Lsn begin, std::size_t size) const {
  const auto after =
      std::upper_bound(entries_.begin(), entries_.end(), begin,
                       [](Lsn lsn, const Entry& entry) { return lsn < entry.batch_begin(); });
  if (after == entries_.begin()) return nullptr;
  const Entry& entry = *std::prev(after);
  return begin <= entry.end() && size <= entry.end() - begin ? &entry : nullptr;
}

}  // namespace millrace::journal
