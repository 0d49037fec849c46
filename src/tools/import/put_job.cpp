#include "tools/import/put_job.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

namespace millrace::tools {
namespace {

/// The longest delay of the protocol.
constexpr std::chrono::seconds kDelayMax{std::numeric_limits<std::uint32_t>::max()};

std::uint32_t seconds_of(Duration duration) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(std::max(duration, Duration{}));
  return static_cast<std::uint32_t>(std::min(seconds, kDelayMax).count());
}

}  // namespace

std::string_view state_name(BinlogRecord::State state) {
  switch (state) {
    case BinlogRecord::State::kBuried:
      return "buried";
    case BinlogRecord::State::kDelayed:
      return "delayed";
    case BinlogRecord::State::kReady:
    case BinlogRecord::State::kReserved:
    case BinlogRecord::State::kDeleted:
      break;
  }
  return "ready";
}

StoredJob stored_put_job(const BinlogRecord& record, ImportTarget& target, Time death) {
  const Time now = target.now();
  StoredJob job;
  job.kind = JobKind::kBytes;
  job.ttr_s = std::max<std::uint32_t>(seconds_of(record.ttr), 1);
  job.created_at = target.past(record.created_at);
  job.pri = record.pri;
  job.delay_s = seconds_of(record.delay);
  if (record.tallies != Tallies{}) job.edit_history().tallies = record.tallies;
  if (record.state == BinlogRecord::State::kBuried) {
    job.state = JobState::kDead;
    job.when = death;
    return job;
  }
  const Time due = std::min(target.wall().steady(record.deadline_at), now + kDelayMax);
  if (record.state == BinlogRecord::State::kDelayed && due > now) {
    job.state = JobState::kScheduled;
    job.when = due;
    // A replay takes the beginning of the delay for a time that has passed.
    job.delay_s = std::max(job.delay_s, seconds_of(due - now));
    return job;
  }
  job.state = JobState::kReady;
  job.enqueued_at =
      record.state == BinlogRecord::State::kDelayed ? std::min(due, now) : job.created_at;
  return job;
}

}  // namespace millrace::tools
