#include "server/turn/full_disk.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace millrace::server {
namespace {

std::uint64_t difference(std::uint64_t more, std::uint64_t less) {
  return more - std::min(more, less);
}

}  // namespace

void FullDisk::look_at_disk(const Journal::Extent& log) {
  log_ = log;
  const DiskSpace* const space = journal_.disk_space();
  is_full_ = space != nullptr && space->is_full();
  is_oldest_shared_ = is_full_ && space->is_oldest_shared();
  log_bytes_max_ = is_full_ ? space->log_bytes_max() : 0;
  if (!is_full_) {
    round_.reset();
    slack_left_ = 0;
    is_slack_left_vague_ = false;
    idle_since_ = log_.end;
  }
  admission_ = decide_admission();
  is_compacting_only_ = must_go_first();
  CHECK(is_full_ || (admission_ == Admission::kEverything && !is_compacting_only_));
}

/// Besides what is needed, there must be room to write all of it once more, segment by segment.
/// While the oldest segment is shared, no room can be made: then only the room that is left counts,
/// and it must be enough for a round when the backup has ended.
Admission FullDisk::decide_admission() const {
  if (!is_full_) return Admission::kEverything;
  const std::uint64_t needed = ledger_.live_bytes() + slack_left_;
  const std::uint64_t room = is_oldest_shared_ ? room_left() : difference(log_bytes_max_, needed);
  const std::uint64_t for_round = kRoundSegments * log_.segment_bytes;
  if (room < for_round) return Admission::kEndingsOnly;
  const bool takes_longer = room >= for_round + log_.segment_bytes / kLongerPart;
  return takes_longer ? Admission::kNoJobs : Admission::kNoGrowth;
}

bool FullDisk::must_go_first() const {
  const bool is_only_segment = log_.oldest_end == log_.begin;
  if (!is_full_ || is_only_segment || is_oldest_shared_) return false;
  const std::uint64_t segment_bytes = std::max(log_.segment_bytes, log_.oldest_end - log_.begin);
  const bool has_room = room_left() >= segment_bytes + segment_bytes / 4 + kTurnBytes;
  if (has_room && admission_ != Admission::kEndingsOnly) return false;
  // Where a round would free nothing, it is of no use to keep clients from the room that is left.
  return round_ || slack() > slack_left_ + log_.segment_bytes / 4 || is_due_when_tight();
}

/// A job counts as needed as long as its record can become, not as it is: one that a connection has
/// reserved will say so when it is written again. This can hide what is obsolete. What was written
/// since the last round shows it. So may a further round, which then has the log for itself.
bool FullDisk::is_due_when_tight() const {
  return admission_ == Admission::kEndingsOnly &&
         (is_slack_left_vague_ || log_.end - idle_since_ > log_.segment_bytes / 4);
}

void FullDisk::count_written(std::uint64_t bytes) {
  if (round_ && bytes > 0) round_->is_alone = false;
}

/// Obsolete bytes are worth more on a full disk than it costs to be rid of them. So the whole log
/// is gone through whenever half a segment of them has come together.
bool FullDisk::is_round_due() {
  CHECK(is_full_);
  if (is_oldest_shared_) return false;
  if (round_ && log_.begin >= round_->end) {
    end_round();
    return false;
  }
  const bool is_due = slack() > slack_left_ + log_.segment_bytes / 2 || is_compacting_only_;
  if (!round_ && is_due) {
    // The batch at hand comes after the end.
    round_ = Round{.end = log_.end,
                   .live_bytes = ledger_.live_bytes(),
                   .is_alone = ledger_.batch_bytes() == 0};
  }
  return round_.has_value();
}

void FullDisk::end_round() {
  // Jobs that ended during the round left obsolete records after its start: the next round frees
  // those, so they do not count as what no round can free.
  const std::uint64_t ended = difference(round_->live_bytes, ledger_.live_bytes());
  slack_left_ = difference(slack(), ended);
  is_slack_left_vague_ = !round_->is_alone;
  idle_since_ = log_.end;
  round_.reset();
}

std::uint64_t FullDisk::slack() const {
  return difference(log_.end - log_.begin, ledger_.live_bytes());
}

std::uint64_t FullDisk::share() const {
  CHECK(is_full_);
  if (is_ahead()) return 0;
  const std::uint64_t small = std::max(kSmallBatchBytes, log_.segment_bytes / kBatchesPerSegment);
  return std::max(kSmallBatchBytes, std::min(small, room_left() / kRoomPart));
}

bool FullDisk::is_ahead() const {
  const std::uint64_t waiting = difference(log_.end, journal_.durable());
  return waiting > std::min(kFullBytesAhead, room_left() / kRoomPart);
}

/// After everything is written that was decided on.
std::uint64_t FullDisk::room_left() const {
  return difference(log_bytes_max_, log_.end - log_.begin + ledger_.batch_bytes());
}

}  // namespace millrace::server
