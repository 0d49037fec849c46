#include "journal/shared/shared_log_journal.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.hpp"

namespace millrace::journal {

Outcome<Done> SharedLogJournal::replay(const Visitor& visitor) {
  const Outcome<std::optional<Lsn>> read = follow(log_.begin(), visitor);
  return read ? Outcome<Done>(Done{}) : read.error();
}

Outcome<std::optional<Lsn>> SharedLogJournal::follow(Lsn from, const Visitor& visitor) {
  if (from < log_.begin()) return std::optional<Lsn>();
  for (const SharedLog::Entry& entry : log_.entries()) {
    if (entry.at < from || entry.batch.empty()) continue;
    if (const Outcome<Done> visited = visitor(entry.batch, entry.batch_begin()); !visited) {
      return visited.error();
    }
  }
  end_ = durable_ = log_.end();
  return std::optional<Lsn>(end_);
}

Result<Epoch, SharedJournal::ClaimRefusal> SharedLogJournal::claim(Lsn applied) {
  const Epoch next{static_cast<std::uint64_t>(log_.epoch()) + 1};
  Result<Lsn, SharedLog::AppendRefusal> claimed = log_.append(applied, next, {});
  if (!claimed && claimed.error() == SharedLog::AppendRefusal::kUnknown) {
    return ClaimRefusal::kUnknown;
  }
  if (!claimed) return ClaimRefusal::kBehind;
  epoch_ = next;
  end_ = durable_ = *claimed;
  return next;
}

Result<Journal::Span, Deposed> SharedLogJournal::append(Epoch epoch, std::string batch) {
  CHECK(!batch.empty());
  if (epoch != log_.epoch()) return Deposed{.by = log_.epoch()};
  waiting_.push_back({.at = end_, .epoch = epoch, .batch = std::move(batch)});
  const Span span{.begin = waiting_.back().batch_begin(), .end = waiting_.back().end()};
  end_ = span.end;
  if (sending_ == Sending::kAtOnce) step();
  return span;
}

bool SharedLogJournal::step() {
  if (waiting_.empty()) return false;
  const bool is_sent = send(waiting_.front());
  if (is_sent) {
    durable_ = waiting_.front().end();
    waiting_.pop_front();
  } else {
    // The entries after a refused one would be refused too.
    waiting_.clear();
  }
  if (wake_) wake_();
  return is_sent;
}

/// Asks until the answer is known. Whether an append was stored is found out by reading: it is not
/// sent again before, or it could be refused for what it stored itself.
bool SharedLogJournal::send(const SharedLog::Entry& entry) {
  for (;;) {
    const auto stored = log_.append(entry.at, entry.epoch, entry.batch);
    if (stored || is_stored(entry)) return true;
    if (stored.error() == SharedLog::AppendRefusal::kConflict) return false;
  }
}

bool SharedLogJournal::is_stored(const SharedLog::Entry& entry) const {
  const SharedLog::Entry* const found = log_.find(entry.batch_begin(), entry.batch.size());
  return found != nullptr && found->at == entry.at && found->epoch == entry.epoch;
}

Outcome<std::string> SharedLogJournal::read(Lsn begin, std::size_t size) {
  for (const SharedLog::Entry& entry : waiting_) {
    if (begin >= entry.batch_begin() && begin + size <= entry.end()) {
      return entry.batch.substr(begin - entry.batch_begin(), size);
    }
  }
  const SharedLog::Entry* const entry = log_.find(begin, size);
  if (entry == nullptr) return Problem{"the log does not hold that"};
  return entry->batch.substr(begin - entry->batch_begin(), size);
}

/// A segment ends with the first entry that makes it long enough.
std::vector<Lsn> SharedLogJournal::segments() const {
  std::vector<Lsn> segments{log_.begin()};
  for (const SharedLog::Entry& entry : log_.entries()) {
    if (entry.at >= segments.back() + segment_bytes_) segments.push_back(entry.at);
  }
  return segments;
}

Journal::Extent SharedLogJournal::extent() const {
  const std::vector<Lsn> begins = segments();
  return {.begin = begins.front(),
          .oldest_end = begins.size() > 1 ? begins[1] : begins.front(),
          .newest_begin = begins.back(),
          .end = end_,
          .segment_bytes = segment_bytes_};
}

std::size_t SharedLogJournal::trim(Lsn before) {
  const std::size_t count = segments().size();
  log_.trim(epoch_, before);
  return count - std::min(count, segments().size());
}

void SharedLogJournal::sync() {
  while (step()) {
  }
}

}  // namespace millrace::journal
