#include "core/broker/features/unreadable_bodies.hpp"

#include <string>
#include <utility>

namespace millrace {
namespace {

constexpr std::string_view kErrtype = "BodyUnreadable";

/// The path of a segment may be long.
constexpr std::size_t kWhyBytesMax = 1024;

}  // namespace

bool UnreadableBodies::can_run(const Job& job, Time now) {
  CHECK(job.state != JobState::kReserved);
  if (ledger_.store().jobs().load_body(job)) return true;
  work(now);
  // One that was marked in an earlier run has become ready since.
  if (job.state != JobState::kDead) bury(job, job.fields(), now);
  return false;
}

void UnreadableBodies::end_run(const Job& job, Time now) {
  work(now);
  if (job.state != JobState::kDead) bury(job, job.fields(), now);
}

void UnreadableBodies::work(Time now) {
  while (!again_.empty() && again_.front().at <= now) {
    const JobId id = again_.front().job;
    again_.pop_front();
    read_again(id, now);
  }
  for (const Bodies::Missing& missing : bodies().take_missing()) see_to(missing, now);
}

Time UnreadableBodies::next_due() const {
  if (ledger_.store().jobs().bodies().has_missing()) return kAtOnce;
  return again_.empty() ? kNever : again_.front().at;
}

void UnreadableBodies::see_to(const Bodies::Missing& missing, Time now) {
  const Job* const job = ledger_.store().jobs().find(missing.job);
  if (job == nullptr || job->has_body()) return;
  if (!missing.is_passing) {
    note_damage(*job, now);
  } else if (!bodies().is_damage(*job)) {
    again_.push_back({.at = now + kReadAgainAfter, .job = job->id});
  }
  if (!job->has_mark(job_marks::kBodyUnreadable)) mark(*job, missing.why, now);
}

void UnreadableBodies::mark(const Job& job, std::string_view why, Time now) {
  ++tally_.bodies_unreadable;
  if (watch_ != nullptr) {
    watch_->on_body_unreadable(job, ledger_.store().queues().at(job.queue), why);
  }
  JobFields fields = job.fields();
  fields.marks |= job_marks::kBodyUnreadable;
  if (admission_.admits_growth()) {
    Failure failure{.failed_at = now};
    std::string before;
    if (const Failure* const former = job.failure()) {
      failure = *former;
      before = "; before that, " + former->errtype + ": " + former->message;
    }
    failure.errtype = kErrtype;
    failure.message = "body unreadable: ";
    failure.message.append(why.substr(0, kWhyBytesMax)).append(before);
    fields.edit_history().failure = std::move(failure);
  }
  if (job.state == JobState::kReserved) return events_.change(job, std::move(fields), now);
  bury(job, std::move(fields), now);
}

void UnreadableBodies::bury(const Job& job, JobFields fields, Time now) {
  if (job.state != JobState::kDead) events_.bury(fields, now);
  events_.change(job, std::move(fields), now);
}

/// The damage may be in the newest segment, of an idle server. Something that is written begins
/// another, and compaction can do its work.
void UnreadableBodies::note_damage(const Job& job, Time now) {
  bodies().note_damage(job);
  if (job.has_mark(job_marks::kBodyUnreadable)) events_.change(job, job.fields(), now);
}

/// Whoever asks meanwhile is told what is known.
void UnreadableBodies::read_again(JobId id, Time now) {
  const Job* const job = ledger_.store().jobs().find(id);
  if (job != nullptr && !ledger_.store().jobs().reload_body(*job)) note_damage(*job, now);
}

}  // namespace millrace
