#include "tools/import/faktory/faktory_job.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/broker/jobs/dead_set.hpp"
#include "core/broker/requests.hpp"
#include "faktory/job/failed_run.hpp"
#include "faktory/job/pushed_job.hpp"
#include "faktory/job/read_features.hpp"
#include "faktory/job/stored_form.hpp"
#include "faktory/json/checked_json.hpp"
#include "faktory/json/object_reader.hpp"
#include "faktory/json/timestamp.hpp"

namespace millrace::tools {
namespace {

using faktory::JobMembers;
using faktory::RefusedJob;

/// A score is a floating-point number of seconds.
constexpr Duration kScoreError = 1ms;

/// The time that a score was made of, if the job tells it; else the score.
Time exact_time(Time score, std::optional<Time> told) {
  const Time time = std::min(score, faktory::kLatestDue);
  const bool is_it = told && *told > time - kScoreError && *told < time + kScoreError;
  return is_it ? *told : time;
}

/// A time that somebody has set: Go writes one that nobody has as the year 1.
std::optional<Time> set_time(std::string_view text) {
  const auto time = faktory::parse_time(text);
  return time && *time > Time{} ? time : std::nullopt;
}

std::string_view reason_of(const RefusedJob& refused) {
  using Reason = RefusedJob::Reason;
  switch (refused.reason) {
    case Reason::kJidTooShort:
    case Reason::kJidTooLong:
      return "without a jid of 8 to 1024 bytes";
    case Reason::kNoJobtype:
      return "without a jobtype";
    case Reason::kNoArgs:
      return "without args";
    case Reason::kInvalidQueueName:
    case Reason::kQueueNameTooLong:
      return "for a queue with a name that no worker can use";
    default:
      return "that a push would not take";
  }
}

/// What of a job may make a push refuse it, and must not here: Faktory has taken it.
JobMembers without_refusable(const JobMembers& members) {
  JobMembers plain = members;
  plain.at = plain.raw_failure = {};
  plain.custom = {};
  plain.reserve_for = std::min(plain.reserve_for, faktory::kReserveForMax);
  return plain;
}

Failure failure_of(const JobMembers& members, const StoredJob& job, WallClock clock) {
  if (!members.raw_failure.empty()) {
    auto failure = faktory::parse_failure(members.raw_failure, job.created_at, clock);
    if (failure) return std::move(*failure);
  }
  return {.remaining = members.retry.value_or(kRetryDefault),
          .failed_at = job.created_at,
          .errtype = "unknown",
          .message = "unknown"};
}

}  // namespace

std::string_view state_name(FaktoryState state) {
  switch (state) {
    case FaktoryState::kEnqueued:
      return "enqueued";
    case FaktoryState::kScheduled:
      return "scheduled";
    case FaktoryState::kRetries:
      return "retries";
    case FaktoryState::kDead:
      return "dead";
    case FaktoryState::kWorking:
      return "working";
  }
  return {};
}

std::optional<FaktoryJobReader::Held> FaktoryJobReader::read_held(std::string_view text) {
  Held held;
  const auto take = [&held](std::string_view name, const faktory::MemberValue& value) {
    if (name == "wid") held.wid = value.string;
    if (name == "reserved_at") {
      held.reserved_at = set_time(value.string).value_or(Time{});
    }
    return true;
  };
  if (faktory::read_object(text, take) != faktory::ObjectShape::kObject) return std::nullopt;
  faktory::each_member(text, [&held](std::string_view name, std::string_view value) {
    if (name == R"("job")") held.raw_job = value;
  });
  return held;
}

Result<FaktoryJob, FaktoryRefusal> FaktoryJobReader::read(const FaktoryEntry& entry) {
  const FaktoryRefusal unreadable{.queue = std::string(entry.queue),
                                  .reason = "that cannot be read as the JSON of a job",
                                  .is_unreadable = true};
  std::optional<Held> held;
  if (entry.state == FaktoryState::kWorking) {
    held = read_held(entry.text);
    if (!held) return unreadable;
  }
  const Outcome<JobMembers> read = reader_.read(held ? held->raw_job : entry.text);
  if (!read) return unreadable;
  JobMembers members = *read;
  // A job is where its list is, whatever it says.
  if (!entry.queue.empty()) members.queue = entry.queue;
  const auto pushed = faktory::make_bodiless_job(without_refusable(members), target_.now(),
                                                 target_.wall(), faktory::no_secret);
  if (!pushed) {
    return FaktoryRefusal{.queue = std::string(members.queue), .reason = reason_of(pushed.error())};
  }
  FaktoryJob job{.queue = std::string(pushed->queue), .body = {}, .fields = {}};
  faktory::encode_work_unit(members, job.body);
  if (job.body.size() > kBodyBytesMax) {
    return FaktoryRefusal{.queue = job.queue, .reason = "longer than 1 GiB"};
  }
  job.fields.kind = JobKind::kWorkUnit;
  job.fields.pri = pushed->pri;
  job.fields.ttr_s = pushed->ttr_s;
  const auto created_at = set_time(members.created_at);
  job.fields.created_at = created_at ? target_.past(*created_at) : target_.now();
  set_state(members, entry, job.fields);
  if (held && keeps_working_) hold(members, entry, std::move(*held), job.fields);
  if (!members.custom.raw.empty()) set_features(members, job.fields);
  reader_.shrink();
  return job;
}

void FaktoryJobReader::set_state(const JobMembers& members, const FaktoryEntry& entry,
                                 StoredJob& job) {
  const WallClock clock = target_.wall();
  if (!members.raw_failure.empty() || entry.state == FaktoryState::kRetries) {
    job.edit_history().failure = failure_of(members, job, clock);
  }
  const auto enqueued_at = set_time(members.enqueued_at);
  if (enqueued_at) job.enqueued_at = target_.past(*enqueued_at);
  switch (entry.state) {
    case FaktoryState::kEnqueued:
    case FaktoryState::kWorking:
      job.state = JobState::kReady;
      if (!enqueued_at) job.enqueued_at = job.created_at;
      return;
    case FaktoryState::kScheduled:
      job.state = JobState::kScheduled;
      job.when = exact_time(entry.score, faktory::parse_time(members.at));
      job.delay_s = faktory::whole_seconds(clock.steady(job.when) - job.created_at);
      return;
    case FaktoryState::kRetries: {
      Failure& failure = *job.edit_history().failure;
      job.state = JobState::kRetrying;
      job.when = failure.next_at = exact_time(clock.steady(entry.score), failure.next_at);
      return;
    }
    case FaktoryState::kDead:
      job.state = JobState::kDead;
      // The score is when it would be purged.
      job.when = target_.state().take_death(
          target_.past(std::max(entry.score, Time{kDeadLimit}) - kDeadLimit));
      return;
  }
}

void FaktoryJobReader::hold(const JobMembers& members, const FaktoryEntry& entry, Held held,
                            StoredJob& job) {
  if (held.wid.size() > kWidBytesMax) return;
  job.state = JobState::kReserved;
  job.when = target_.wall().steady(std::min(entry.score, faktory::kLatestDue));
  job.edit_history().tallies.reserves = 1;
  job.edit_history().reservation = Reservation{.wid = std::move(held.wid),
                                               .jid = std::string(members.jid),
                                               .reserved_at = target_.past(held.reserved_at)};
}

/// Wishes that Millrace does not understand are the client's own, as they were for Faktory.
void FaktoryJobReader::set_features(const JobMembers& members, StoredJob& job) {
  NewJob wishes;
  if (job.state == JobState::kScheduled) wishes.due = job.when;
  const auto secret = [this] { return target_.lock_secret(); };
  const Time created_at = target_.wall().shown(job.created_at);
  if (faktory::read_features(members, created_at, secret, wishes)) return;
  if (!wishes.features) return;
  JobFeatures& features = *wishes.features;
  // Batches are not in the database, as far as Faktory tells what is.
  features.batch = 0;
  if (features == JobFeatures{}) return;
  const bool is_over = features.lock_ends <= target_.wall().shown(target_.now()) ||
                       job.state == JobState::kDead ||
                       (job.state == JobState::kRetrying && features.locks_until_start != 0);
  if (features.wants_lock() && !is_over && target_.state().take_lock(features.lock_key)) {
    job.marks |= job_marks::kHoldsLock;
  }
  job.features = features;
}

}  // namespace millrace::tools
