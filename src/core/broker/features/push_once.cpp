#include "core/broker/features/push_once.hpp"

#include <algorithm>

namespace millrace {
namespace {

/// Of a new job and of one that is there; 0: none.
template <typename AnyJob>
JobBatchId batch_of(const AnyJob& job) {
  return job.features ? job.features->batch : 0;
}

}  // namespace

bool PushOnce::may_be(const Job& other, const NewJob& job, std::string_view worker,
                      Time wall) const {
  if (other.state == JobState::kDead || other.has_expired(wall)) return false;
  if (batch_of(other) != batch_of(job)) return false;
  const Reservation* const held = other.reservation();
  if (held != nullptr && !worker.empty() && held->wid == worker) return false;
  return ledger_.store().queues().at(other.queue).name == job.queue;
}

std::optional<JobId> PushOnce::find(const NewJob& job, std::uint32_t hash, std::string_view worker,
                                    Time now) const {
  if (!is_on_ || hash == 0) return std::nullopt;
  const Store& store = ledger_.store();
  const Jobs& jobs = store.jobs();
  // Nearly always there is none.
  if (!jobs.names().newest(hash)) return std::nullopt;
  const Time wall = store.wall_clock().shown(now);
  bool was_long = false;
  for (const JobSlot slot : jobs.names().candidates(hash, kNamesakesMax)) {
    const Job& other = jobs.at(slot);
    if (!may_be(other, job, worker, wall)) continue;
    const std::size_t bytes = other.body_bytes;
    if (std::max(bytes, job.body.size()) > WorkUnitFormat::kComparedBytesMax) {
      const std::size_t differ =
          std::max(bytes, job.body.size()) - std::min(bytes, job.body.size());
      if (was_long || differ > kLongBodiesDifferMax) continue;
      was_long = true;
    }
    if (format_.is_same(jobs.with_body(slot), job.body)) return other.id;
  }
  return std::nullopt;
}

}  // namespace millrace
