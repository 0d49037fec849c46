#include "faktory/job/pushed_job.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.hpp"
#include "core/model/queue.hpp"
#include "core/model/types.hpp"
#include "faktory/job/failed_run.hpp"
#include "faktory/job/read_features.hpp"
#include "faktory/job/stored_form.hpp"
#include "faktory/json/text.hpp"
#include "faktory/json/timestamp.hpp"

namespace millrace::faktory {
namespace {

using JobReason = RefusedJob::Reason;

std::string_view queue_of(const JobMembers& members) {
  return members.queue.empty() ? std::string_view(kDefaultQueue) : members.queue;
}

std::optional<RefusedJob> find_refusal(const JobMembers& members) {
  const std::string_view queue = queue_of(members);
  if (members.jid.size() < kJidBytesMin) return RefusedJob{JobReason::kJidTooShort, {}};
  if (members.jid.size() > kJidBytesMax) return RefusedJob{JobReason::kJidTooLong, {}};
  if (members.jobtype.empty()) return RefusedJob{JobReason::kNoJobtype, {}};
  if (members.raw_args.empty()) return RefusedJob{JobReason::kNoArgs, {}};
  if (members.reserve_for > kReserveForMax) return RefusedJob{JobReason::kReservedTooLong, {}};
  if (!members.at.empty() && !parse_time(members.at)) {
    return RefusedJob{JobReason::kInvalidAt, std::string(members.at)};
  }
  // The reference looks at the queue of a scheduled job only when the job is due, and then drops
  // the job. We refuse it at once, so that the client learns of its mistake.
  if (!is_queue_name(queue)) return RefusedJob{JobReason::kInvalidQueueName, std::string(queue)};
  if (queue.size() > kQueueNameBytesMax) return RefusedJob{JobReason::kQueueNameTooLong, {}};
  return std::nullopt;
}

std::uint32_t ttr_of(const JobMembers& members) {
  // 0: the member is absent, or has Go's empty value.
  const std::int64_t asked = members.reserve_for == 0 ? kReserveForDefault : members.reserve_for;
  return static_cast<std::uint32_t>(std::clamp(asked, kReserveForMin, kReserveForMax));
}

/// Priority 9, the most urgent, becomes 0. Each step below leaves a range of 256, so that beanstalk
/// clients can put jobs between two of them.
Pri pri_of(const JobMembers& members) {
  return static_cast<Pri>(9 - members.priority.value_or(kPriorityDefault)) * 256;
}

}  // namespace

std::uint32_t whole_seconds(Duration duration) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(duration).count();
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(seconds, 0, std::numeric_limits<std::uint32_t>::max()));
}

RefusedJob::Member RefusedJob::member() const {
  switch (reason) {
    case Reason::kJidTooShort:
    case Reason::kJidTooLong:
      return {"jid"};
    case Reason::kNoJobtype:
      return {"jobtype"};
    case Reason::kNoArgs:
    case Reason::kUniqueArgsTooLong:
      return {"args"};
    case Reason::kReservedTooLong:
      return {"reserve_for"};
    case Reason::kInvalidAt:
      return {"at"};
    case Reason::kInvalidQueueName:
    case Reason::kQueueNameTooLong:
      return {"queue"};
    case Reason::kInvalidUniqueFor:
      return {"unique_for", true};
    case Reason::kInvalidUniqueUntil:
      return {"unique_until", true};
    case Reason::kInvalidUniqueConflict:
      return {"unique_conflict", true};
    case Reason::kInvalidExpiresAt:
      return {"expires_at", true};
    case Reason::kInvalidExpiresIn:
      return {"expires_in", true};
    case Reason::kInvalidTrack:
      return {"track", true};
    case Reason::kInvalidThrottleKey:
    case Reason::kThrottleKeyTooLong:
      return {"throttle_key", true};
    case Reason::kInvalidRetryDelays:
      return {"retry_delays", true};
    case Reason::kNoSuchBatch:
    case Reason::kCallbackInBatch:
      return {"bid", true};
    case Reason::kInvalidJson:
    case Reason::kNoCallback:
    case Reason::kNotUnique:
    case Reason::kNoRoom:
    case Reason::kNotAllowed:
      break;
  }
  return {};
}

RefusedJob refused_for(const access::Caller& caller, std::string_view queue) {
  return {RefusedJob::Reason::kNotAllowed,
          "NOPERM " + std::string(caller.name()) + " may not push to " + std::string(queue)};
}

Result<NewJob, RefusedJob> make_bodiless_job(const JobMembers& members, Time now, WallClock clock,
                                             const SecretOfLocks& secret) {
  NewJob job;
  if (!members.raw_failure.empty()) {
    Outcome<Failure> failure = parse_failure(members.raw_failure, now, clock);
    if (!failure) return RefusedJob{JobReason::kInvalidJson, failure.error().text};
    job.failure = std::move(*failure);
  }
  if (std::optional<RefusedJob> refused = find_refusal(members)) return *refused;
  job.kind = JobKind::kWorkUnit;
  job.queue = queue_of(members);
  // The client's own `created_at` is a text of the work unit.
  job.created_at = now;
  job.pri = pri_of(members);
  job.ttr_s = ttr_of(members);
  job.due = std::min(parse_time(members.at).value_or(Time{}), kLatestDue);
  // Beanstalk clients see it in `stats-job`. The exact time is `due`.
  const Time wall = clock.shown(now);
  if (job.due > wall) job.delay_s = whole_seconds(job.due - wall);
  if (!members.custom.raw.empty()) {
    if (auto refused = read_features(members, wall, secret, job)) return *refused;
  }
  return job;
}

Result<NewJob, RefusedJob> make_pushed_job(const JobMembers& members, Time now, WallClock clock,
                                           const SecretOfLocks& secret, std::string& body) {
  CHECK(body.empty());
  Result<NewJob, RefusedJob> job = make_bodiless_job(members, now, clock, secret);
  if (!job) return job;
  encode_work_unit(members, body);
  job->body = body;
  return job;
}

Result<MadeJob, RefusedJob> MadeJob::make(const JobMembers& members, const PushTerms& terms) {
  MadeJob made;
  const auto secret = [&terms] { return terms.secret; };
  Result<NewJob, RefusedJob> job =
      make_pushed_job(members, terms.now, terms.clock, secret, made.body_);
  if (!job) return job.error();
  made.job_ = std::move(*job);
  made.queue_ = made.job_.queue;
  return made;
}

std::optional<MadeJob> MadeJob::make_timeless(const JobMembers& members) {
  if (!members.at.empty() || !members.raw_failure.empty() || members.custom.has_known()) {
    return std::nullopt;
  }
  Result<MadeJob, RefusedJob> made = make(members, {});
  if (!made) return std::nullopt;
  return std::move(*made);
}

void MadeJob::prepare() {
  if (body_.size() <= kMadeBodyBytes) return;
  long_body_ = LongBody(body_);
  body_ = std::string();
}

const NewJob& MadeJob::job() {
  const bool is_long = body_.empty();
  job_.queue = queue_;
  job_.body = is_long ? long_body_.view() : body_;
  job_.long_body = is_long ? &long_body_ : nullptr;
  return job_;
}

}  // namespace millrace::faktory
