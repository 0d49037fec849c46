#include "faktory/job/pusher.hpp"

#include "base/buffer.hpp"
#include "base/check.hpp"
#include "base/limits.hpp"
#include "core/model/features/bid.hpp"

namespace millrace::faktory {
namespace {

using JobReason = RefusedJob::Reason;

/// The broker is given jobs of the right form only: what it refuses then is their size.
RefusedJob refused_by_broker(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNoRoom:
      return {JobReason::kNoRoom, {}};
    case Refusal::kNameTooLong:
      return {JobReason::kQueueNameTooLong, {}};
    case Refusal::kNoSuchBatch:
      return {JobReason::kNoSuchBatch, {}};
    case Refusal::kNotUnique:
      return {JobReason::kNotUnique, {}};
    case Refusal::kNotFound:
    case Refusal::kExpired:
    case Refusal::kUnreadable:
    case Refusal::kLastQueue:
    case Refusal::kTooMany:
      break;
  }
  CHECK(false);
}

}  // namespace

Result<JobId, RefusedJob> Pusher::push(std::string_view json, Time now,
                                       const access::Caller& caller, std::optional<Time> planned,
                                       std::string_view worker) {
  const Outcome<JobMembers> members = reader_.read(json);
  if (!members) return RefusedJob{JobReason::kInvalidJson, members.error().text};
  const WallClock clock = broker_.view().wall_clock();
  // As if the clock still showed that time.
  const WallClock clock_then = planned ? WallClock{.ahead = *planned - now} : clock;
  Result<NewJob, RefusedJob> job = make_pushed_job(*members, now, clock_then, secret_, body_);
  if (job && planned && job->features && job->features->wants_lock()) {
    // The lock is taken now.
    job->features->lock_ends = moved_by(job->features->lock_ends, clock.shown(now) - *planned);
  }
  Result<JobId, RefusedJob> id = job ? put(*job, now, caller, worker) : job.error();
  body_.clear();
  shrink();
  return id;
}

Result<JobId, RefusedJob> Pusher::put(const NewJob& job, Time now, const access::Caller& caller,
                                      std::string_view worker) {
  if (!caller.may(access::Right::kPush, job.queue)) return refused_for(caller, job.queue);
  const Answer<JobId> id = broker_.put(job, now, worker);
  if (id) return *id;
  RefusedJob refused = refused_by_broker(id.error());
  if (id.error() == Refusal::kNoSuchBatch) refused.detail = format_bid(job.features->batch);
  if (id.error() == Refusal::kNotUnique && job.conflict == UniqueConflict::kName) {
    const Job* const holder = broker_.view().jobs().find_lock_holder(job.features->lock_key);
    if (holder != nullptr) refused.detail = format_.identify(*holder).jid;
  }
  return refused;
}

void Pusher::shrink() {
  reader_.shrink();
  reset(body_, kKeptBufferBytesMax);
}

}  // namespace millrace::faktory
