#include "faktory/job/pusher.hpp"

#include "base/buffer.hpp"
#include "base/check.hpp"
#include "base/limits.hpp"

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
    case Refusal::kNotFound:
    case Refusal::kLastQueue:
    case Refusal::kTooManyQueues:
      break;
  }
  CHECK(false);
}

}  // namespace

Result<JobId, RefusedJob> Pusher::push(std::string_view json, Time now) {
  const Outcome<JobMembers> members = reader_.read(json);
  if (!members) return RefusedJob{JobReason::kInvalidJson, members.error().text};
  const Result<NewJob, RefusedJob> job =
      make_pushed_job(*members, now, broker_.view().wall_clock(), body_);
  Result<JobId, RefusedJob> id = job ? put(*job, now) : job.error();
  body_.clear();
  shrink();
  return id;
}

Outcome<JobMembers> Pusher::read_element(std::string_view json) {
  return reader_.read_element(json);
}

Result<JobId, RefusedJob> Pusher::put(const NewJob& job, Time now) {
  const Answer<JobId> id = broker_.put(job, now);
  if (!id) return refused_by_broker(id.error());
  return *id;
}

void Pusher::shrink() {
  reader_.shrink();
  reset(body_, kKeptBufferBytesMax);
}

}  // namespace millrace::faktory
