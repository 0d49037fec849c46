#include "core/broker/features/push_once.hpp"

namespace millrace {
namespace {

/// Of a new job and of one that is there; 0: none.
template <typename AnyJob>
JobBatchId batch_of(const AnyJob& job) {
  return job.features ? job.features->batch : 0;
}

}  // namespace

std::optional<JobId> PushOnce::find(const NewJob& job, std::uint32_t hash) const {
  if (!is_on_ || hash == 0) return std::nullopt;
  const Store& store = ledger_.store();
  const Jobs& jobs = store.jobs();
  // Nearly always there is none.
  if (!jobs.names().newest(hash)) return std::nullopt;
  // Long ones take time to compare, and all clients wait.
  const bool is_long = job.body.size() > WorkUnitFormat::kLongBodyBytes;
  for (const JobSlot slot : jobs.names().candidates(hash, is_long ? 1 : kNamesakesMax)) {
    const Job& other = jobs.at(slot);
    if (other.state == JobState::kDead || store.queues().at(other.queue).name != job.queue)
      continue;
    if (batch_of(other) != batch_of(job)) continue;
    if (format_.is_same(jobs.with_body(slot), job.body)) return other.id;
  }
  return std::nullopt;
}

}  // namespace millrace
