#include "core/broker/features/unreadable_bodies.hpp"

#include <string>
#include <utility>

namespace millrace {
namespace {

/// The path of a segment may be long.
constexpr std::size_t kWhyBytesMax = 1024;

}  // namespace

bool UnreadableBodies::can_run(const Job& job, Time now) {
  CHECK(job.state != JobState::kReserved);
  if (ledger_.store().jobs().load_body(job)) return true;
  work(now);
  set_aside(job, now);
  return false;
}

void UnreadableBodies::end_run(const Job& job, Time now) {
  work(now);
  set_aside(job, now);
}

void UnreadableBodies::set_aside(const Job& job, Time now) {
  if (const auto place = awaited_.find(job.id); place != awaited_.end()) {
    Awaited& awaited = place->second;
    if (!std::exchange(awaited.is_set_aside, true)) ++tally_.jobs_set_aside;
    if (!job.has_mark(job_marks::kBodyUnreadable)) {
      if (job.history) awaited.failure = job.history->failure;
      mark(job, awaited.why, now);
    }
  }
  // One that was marked in an earlier run may have become ready since.
  if (job.state != JobState::kDead) bury(job, job.fields(), now);
}

void UnreadableBodies::work(Time now) {
  for (const Bodies::Missing& missing : bodies().take_missing()) see_to(missing, now);
}

void UnreadableBodies::read_again(Time now, absl::FunctionRef<void(const Job& job)> on_ready) {
  for (std::size_t i = 0; i < kUnreadableInARow && !due_.empty() && due_.front().at <= now; ++i) {
    const JobId id = due_.front().job;
    due_.pop_front();
    const auto awaited = awaited_.find(id);
    const Job* const job = ledger_.store().jobs().find(id);
    if (awaited == awaited_.end()) continue;
    awaited->second.is_read_again = true;
    if (job != nullptr && !ledger_.store().jobs().reload_body(*job)) {
      work(now);
      // Without a word of it, the log has no body of the job any more.
      const auto again = awaited_.find(id);
      if (again != awaited_.end() && again->second.is_read_again) stop_awaiting(id);
      continue;
    }
    Awaited over = *stop_awaiting(id);
    const bool is_aside = over.is_set_aside && job != nullptr && job->state == JobState::kDead &&
                          job->has_mark(job_marks::kBodyUnreadable);
    if (!is_aside || !events_.may_come_back(*job, now)) continue;
    restore(*job, std::move(over.failure), now);
    on_ready(*job);
  }
  bodies().set_awaited(!awaited_.empty());
}

Time UnreadableBodies::next_due() const {
  if (ledger_.store().jobs().bodies().has_missing()) return kAtOnce;
  return due_.empty() ? kNever : due_.front().at;
}

void UnreadableBodies::see_to(const Bodies::Missing& missing, Time now) {
  const Job* const job = ledger_.store().jobs().find(missing.job);
  // Compaction may have written it without.
  if (job == nullptr || !job->is_spilled()) return;
  if (missing.is_passing && await(*job, missing.why, now)) {
    if (admission_.admits_jobs()) return;
  } else {
    // Not counted again if it was awaited.
    if (!stop_awaiting(job->id) && !job->has_mark(job_marks::kBodyUnreadable)) {
      report(*job, missing.why);
    }
    note_damage(*job, now);
  }
  if (!job->has_mark(job_marks::kBodyUnreadable)) mark(*job, missing.why, now);
}

/// False: it is given up, as damage.
bool UnreadableBodies::await(const Job& job, const std::string& why, Time now) {
  const auto [place, is_new] = awaited_.try_emplace(job.id, Awaited{.why = why});
  Awaited& awaited = place->second;
  if (is_new) {
    if (!job.has_mark(job_marks::kBodyUnreadable)) report(job, why);
  } else if (!std::exchange(awaited.is_read_again, false)) {
    return true;
  } else if (bodies().read_count() != awaited.read_count || ++awaited.tries == kReadAgainMax) {
    return false;
  }
  awaited.read_count = bodies().read_count();
  due_.push_back({.at = now + kReadAgainAfter, .job = job.id});
  bodies().set_awaited(true);
  return true;
}

std::optional<UnreadableBodies::Awaited> UnreadableBodies::stop_awaiting(JobId id) {
  auto awaited = awaited_.extract(id);
  if (awaited.empty()) return std::nullopt;
  if (awaited.mapped().is_set_aside) --tally_.jobs_set_aside;
  return std::move(awaited.mapped());
}

/// As if it had not been away.
void UnreadableBodies::restore(const Job& job, Box<Failure> failure, Time now) {
  JobFields fields = job.fields();
  fields.edit_history().failure = std::move(failure);
  fields.state = JobState::kReady;
  fields.when = Time{};
  events_.change(job, std::move(fields), now);
}

void UnreadableBodies::report(const Job& job, std::string_view why) {
  ++tally_.bodies_unreadable;
  if (watch_ == nullptr) return;
  watch_->on_body_unreadable(job, ledger_.store().queues().at(job.queue), why);
}

void UnreadableBodies::mark(const Job& job, std::string_view why, Time now) {
  JobFields fields = job.fields();
  fields.marks |= job_marks::kBodyUnreadable;
  if (admission_.admits_growth()) {
    Failure failure{.failed_at = now};
    std::string before;
    if (const Failure* const former = job.failure()) {
      failure = *former;
      before.append(kBeforeThat).append(former->errtype + ": " + former->message);
    }
    failure.group = {};
    failure.errtype = kUnreadableErrtype;
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

}  // namespace millrace
