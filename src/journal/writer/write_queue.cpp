#include "journal/writer/write_queue.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.hpp"

namespace millrace::journal {
namespace {

/// How long `sync` waits for room on a full disk.
constexpr std::chrono::seconds kRoomPatience{3};

/// The batch that holds [begin, begin + size); batches are in the order of their places.
const PlacedBatch* find_batch(const std::vector<PlacedBatch>& batches, Lsn begin,
                              std::size_t size) {
  const auto after =
      std::upper_bound(batches.begin(), batches.end(), begin,
                       [](Lsn lsn, const PlacedBatch& batch) { return lsn < batch.begin; });
  if (after == batches.begin()) return nullptr;
  const PlacedBatch& batch = *std::prev(after);
  return begin < batch.end() && size <= batch.end() - begin ? &batch : nullptr;
}

}  // namespace

// ---- for the caller -----------------------------------------------------------------------------

void WriteQueue::append(PlacedBatch batch) {
  {
    const std::lock_guard guard(mutex_);
    append_locked(std::move(batch));
    is_hurried_ = true;
  }
  work_.notify_one();
}

void WriteQueue::append_unhurried(PlacedBatch batch) {
  const std::lock_guard guard(mutex_);
  append_locked(std::move(batch));
}

void WriteQueue::append_locked(PlacedBatch&& batch) {
  // No further batch is taken, so memory does not grow until the process has ended.
  if (has_failed_) return;
  pending_bytes_.fetch_add(batch.payload.size(), std::memory_order_relaxed);
  pending_.push_back(std::move(batch));
}

void WriteQueue::hurry() {
  {
    const std::lock_guard guard(mutex_);
    is_hurried_ = true;
  }
  work_.notify_one();
}

void WriteQueue::release(Lsn end) {
  {
    const std::lock_guard guard(mutex_);
    released_ = end;
    is_hurried_ = true;
  }
  work_.notify_one();
}

void WriteQueue::remove(const std::vector<Lsn>& segments, Lsn oldest_kept) {
  {
    const std::lock_guard guard(mutex_);
    removals_.segments.insert(removals_.segments.end(), segments.begin(), segments.end());
    removals_.oldest_kept = oldest_kept;
  }
  work_.notify_one();
}

std::optional<std::string> WriteQueue::read(Lsn begin, std::size_t size) const {
  const std::lock_guard guard(mutex_);
  const PlacedBatch* batch = find_batch(in_flight_, begin, size);
  if (batch == nullptr) batch = find_batch(pending_, begin, size);
  if (batch == nullptr) return std::nullopt;
  return std::string(batch->payload.view().substr(begin - batch->begin, size));
}

void WriteQueue::ask_to_sync(Lsn end) {
  const std::lock_guard guard(mutex_);
  sync_asked_ = end;
}

bool WriteQueue::is_synced(Lsn end) const {
  const std::lock_guard guard(mutex_);
  return sync_done_ >= end;
}

void WriteQueue::sync(Lsn end, const WriterStatus& status) {
  std::unique_lock guard(mutex_);
  sync_asked_ = end;
  work_.notify_one();
  const auto is_through = [&] { return has_failed_ || sync_done_ >= end; };
  // A disk that is only slow is waited for without end. A full one may never have room again.
  while (!synced_.wait_for(guard, kRoomPatience, is_through)) must_not_wait_ = status.is_full();
}

void WriteQueue::stop() {
  {
    const std::lock_guard guard(mutex_);
    is_stopping_ = true;
  }
  work_.notify_one();
}

// ---- for the writer -----------------------------------------------------------------------------

void WriteQueue::begin(Lsn synced) {
  const std::lock_guard guard(mutex_);
  sync_done_ = synced;
}

bool WriteQueue::has_work() const {
  const std::lock_guard guard(mutex_);
  return has_work_locked() || has_released_locked();
}

bool WriteQueue::has_work_locked() const {
  const bool must_write = is_hurried_ && has_released_locked();
  return must_write || !removals_.segments.empty() || sync_asked_ > sync_done_ || is_stopping_;
}

bool WriteQueue::has_released_locked() const {
  return !pending_.empty() && pending_.front().end() <= released_;
}

/// The vectors are exchanged where all are taken, so the caller never waits for an allocation or a
/// copy then.
void WriteQueue::take_released_locked() {
  CHECK(in_flight_.empty());
  if (pending_.empty() || pending_.back().end() <= released_) return in_flight_.swap(pending_);
  const auto kept =
      std::find_if(pending_.begin(), pending_.end(),
                   [this](const PlacedBatch& batch) { return batch.end() > released_; });
  in_flight_.assign(std::make_move_iterator(pending_.begin()), std::make_move_iterator(kept));
  pending_.erase(pending_.begin(), kept);
}

WriteQueue::Round WriteQueue::wait_for_round(std::chrono::steady_clock::time_point until) {
  std::unique_lock guard(mutex_);
  const auto is_on = [&] { return has_work_locked(); };
  if (until == std::chrono::steady_clock::time_point::max()) {
    work_.wait(guard, is_on);
  } else {
    work_.wait_until(guard, until, is_on);
  }
  return take_round_locked();
}

WriteQueue::Round WriteQueue::take_round() {
  const std::lock_guard guard(mutex_);
  return take_round_locked();
}

WriteQueue::Round WriteQueue::take_round_locked() {
  take_released_locked();
  is_hurried_ = false;
  return {.removals = take_removals_locked(),
          .must_sync = sync_asked_ > sync_done_ || is_stopping_,
          .is_last = is_stopping_};
}

WriteQueue::Removals WriteQueue::take_removals_locked() {
  return {.segments = std::exchange(removals_.segments, {}), .oldest_kept = removals_.oldest_kept};
}

void WriteQueue::refresh(Round& unfinished) {
  const std::lock_guard guard(mutex_);
  unfinished.removals = take_removals_locked();
  unfinished.is_last = is_stopping_;
}

std::optional<WriteQueue::Removals> WriteQueue::wait_for_removals(std::chrono::milliseconds pause) {
  std::unique_lock guard(mutex_);
  const auto is_over = [&] {
    return is_stopping_ || must_not_wait_ || !removals_.segments.empty();
  };
  work_.wait_for(guard, pause, is_over);
  if (is_stopping_ || must_not_wait_) return std::nullopt;
  return take_removals_locked();
}

void WriteQueue::finish_round(Lsn synced) {
  std::uint64_t bytes = 0;
  for (const PlacedBatch& batch : in_flight_) bytes += batch.payload.size();
  CHECK(bytes <= pending_bytes());
  pending_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  {
    const std::lock_guard guard(mutex_);
    in_flight_.swap(finished_);
    sync_done_ = synced;
  }
  synced_.notify_all();
  finished_.clear();  // frees the memory without keeping the caller out
}

void WriteQueue::fail() {
  {
    const std::lock_guard guard(mutex_);
    has_failed_ = true;
  }
  synced_.notify_all();
}

bool WriteQueue::has_failed() const {
  const std::lock_guard guard(mutex_);
  return has_failed_;
}

}  // namespace millrace::journal
