#include "http/routes/job_view.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/base64.hpp"
#include "base/member_count.hpp"
#include "base/text.hpp"
#include "core/broker/view.hpp"
#include "core/model/failure_group.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "http/routes/batch_view.hpp"
#include "http/routes/features/throttle_view.hpp"
#include "http/routes/handlers.hpp"

namespace millrace::http {
namespace {

/// Null: it asked for no lock.
Json show_lock(const Job& job) {
  if (!job.features || !job.features->wants_lock()) return nullptr;
  const bool is_held = job.holds_lock();
  return {{"is_held", is_held},
          // A lock lasts by the wall clock.
          {"until", is_held ? show_time(job.lock_ends(), {}) : Json(nullptr)},
          {"ends_with", job.features->locks_until_start ? "start" : "success"}};
}

/// When it is removed if no worker has fetched it; null: never.
Json show_expiry(const Job& job) {
  return job.features ? show_time(job.features->expires_at, {}) : Json(nullptr);
}

/// What was told of the progress of the job of that name; null: nothing.
Json show_track(const Job& job, std::string_view jid, const View& view) {
  const Track* const track = view.jobs().progress_of(job, jid);
  if (track == nullptr) return nullptr;
  return {{"percent", track->percent == kNoPercent ? Json(nullptr) : Json(track->percent)},
          {"desc", text_or_null(track->desc)},
          {"updated_at", show_time(track->updated_at, view.wall_clock())}};
}

/// Why no worker gets a job that is ready; null: nothing but the jobs before it.
Json show_hold(const Job& job, const WorkUnitFormat::Type& type, const View& view, Time now) {
  if (job.state != JobState::kReady) return nullptr;
  const Queue& queue = view.queues().at(job.queue);
  if (queue.is_paused(now)) {
    const bool ends = queue.paused_until != kNever;
    return {{"reason", "paused"},
            {"until", ends ? show_time(queue.paused_until, view.wall_clock()) : Json(nullptr)},
            {"throttled", nullptr}};
  }
  std::string throttled = held_by(job, type, view, now);
  // A limit of the queue holds up all its jobs.
  if (queue.throttle != nullptr && !queue.throttle->has_room(now)) throttled.clear();
  if (throttled.empty()) throttled = throttled_by(queue, now);
  if (throttled.empty()) return nullptr;
  return {{"reason", "throttled"}, {"until", nullptr}, {"throttled", throttled}};
}

const char* outcome_of_attempt(AttemptEnd end) {
  switch (end) {
    case AttemptEnd::kFailed:
      return "failed";
    case AttemptEnd::kExpired:
      return "expired";
    case AttemptEnd::kTimedOut:
      return "timed_out";
    case AttemptEnd::kWorkerLost:
      return "worker_lost";
    case AttemptEnd::kReleased:
      return "released";
    case AttemptEnd::kEndedLate:
      return "ended_late";
  }
  return "";
}

Json error_of(const std::string& type, const std::string& message,
              const std::vector<std::string>& backtrace) {
  if (type.empty() && message.empty() && backtrace.empty()) return nullptr;
  return {{"type", type}, {"message", message}, {"backtrace", backtrace}};
}

/// The job's failure has the texts of one of them.
Json error_of(const Attempt& attempt, const Failure* failure) {
  if (attempt.has_failure && failure != nullptr) {
    return error_of(failure->errtype, failure->message, failure->backtrace);
  }
  return error_of(attempt.errtype, attempt.message, attempt.backtrace);
}

Json show(const Attempt& attempt, const Failure* failure, WallClock clock) {
  const auto known = [](const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
  };
  return {{"number", attempt.number},
          {"began_at", show_time(attempt.began, clock)},
          {"ended_at", show_time(attempt.ended, clock)},
          {"outcome", outcome_of_attempt(attempt.end)},
          {"wid", known(attempt.wid)},
          {"hostname", known(attempt.hostname)},
          {"pid", attempt.pid == 0 ? Json(nullptr) : Json(attempt.pid)},
          {"client", attempt.connection == 0 ? Json(nullptr) : Json(attempt.connection)},
          {"error", error_of(attempt, failure)}};
}

/// The job's last runs that did not end well, oldest first.
Json show_attempts(const Attempts* attempts, const Failure* failure, WallClock clock) {
  Json shown = Json::array();
  if (attempts == nullptr) return shown;
  for (const Attempt& attempt : attempts->list) {
    shown.push_back(show(attempt, failure, clock));
  }
  return shown;
}

/// How long 95 % of the runs of its queue took at most.
Json usual_run(const Job& job, const View& view) {
  const auto& meter = view.queues().at(job.queue).meter;
  return meter ? show_length(meter->run.quantile(0.95)) : Json(nullptr);
}

Json reservation_of(const Job& job, const View& view) {
  const Reservation* held = job.reservation();
  if (held == nullptr) return nullptr;
  const WallClock clock = view.wall_clock();
  const auto worker = view.workers().find(held->wid);
  const bool is_known = worker != view.workers().end();
  return {{"since", show_time(held->reserved_at, clock)},
          {"usual_run_s", usual_run(job, view)},
          {"until", show_time(job.when, clock)},
          {"wid", held->is_held_by_worker() ? Json(held->wid) : Json(nullptr)},
          {"hostname", is_known ? Json(worker->second.hostname) : Json(nullptr)},
          {"pid", is_known ? Json(worker->second.pid) : Json(nullptr)},
          {"client", held->is_held_by_worker() ? Json(nullptr) : Json(held->client)}};
}

Json failure_of(const Failure& failure, WallClock clock) {
  return {{"type", failure.errtype},
          {"message", failure.message},
          {"group", failure_group(failure)},
          {"backtrace", failure.backtrace},
          // `retry_count` is 0 after the first failure (Faktory).
          {"failures", failure.retry_count + 1},
          {"retries_left", failure.remaining},
          {"first_at", show_time(failure.failed_at, clock)},
          {"next_at", show_time(failure.next_at, clock)}};
}

/// Why a retry comes when it does, for people. What asks for the delay is told where it would ask
/// for the same now: the configuration may have changed. Null: nobody knows.
Json why_next(const Job& job, const Site& site) {
  const Failure* const failure = job.failure();
  const Attempts* const attempts = site.broker.view().jobs().attempts_of(job);
  const bool is_known = failure != nullptr && attempts != nullptr && !attempts->list.empty() &&
                        attempts->list.back().has_failure;
  if (job.state != JobState::kRetrying || !is_known || job.when != failure->next_at) return nullptr;
  const std::int64_t count = failure->retry_count;
  const Duration delay = failure->next_at - attempts->list.back().ended;
  const auto seconds = std::chrono::round<std::chrono::seconds>(delay).count();
  std::string text = concat("retry ", count + 1, " of ", site.format.identify(job).retry, ", ",
                            seconds, " s after the failure");
  const auto asked = site.broker.admin().retry_delays_of(job);
  const RetryDelays* const delays = asked ? &*asked : nullptr;
  if (delay >= retry_delay(count, {0, delays}) && delay <= retry_delay(count, {29, delays})) {
    text += ": " + (asked ? asked->from : std::string("the usual back-off"));
  }
  return text;
}

/// A body may be no text: its bytes are then those of a text, or `\xff`.
std::string text_of(std::string_view bytes) {
  if (is_utf8(bytes)) return std::string(bytes);
  std::string text;
  for (const char& c : bytes) {
    const bool is_shown = c >= ' ' && c <= '~';
    text += is_shown ? std::string(1, c) : "\\x" + hex_of({&c, 1});
  }
  return text;
}

Json body_of(std::string_view body) {
  const std::string_view text = cut(body, kBodyShownBytesMax);
  const bool is_text = is_utf8(text);
  return {{"is_text", is_text},
          {"is_cut", body.size() > kBodyShownBytesMax},
          {"text", is_text ? Json(text) : Json(nullptr)},
          {"base64", is_text ? Json(nullptr) : Json(base64(body.substr(0, kBodyShownBytesMax)))}};
}

}  // namespace

Json show_counts(const View& view, const ScopedQueues& queues) {
  return {{"ready", queues.count(JobState::kReady, view)},
          {"reserved", queues.count(JobState::kReserved, view)},
          {"scheduled", queues.count(JobState::kScheduled, view)},
          {"retrying", queues.count(JobState::kRetrying, view)},
          {"dead", queues.count(JobState::kDead, view)}};
}

Json row_of(const Job& job, const Site& site) {
  const WorkUnitFormat::Summary summary = site.format.summarize(job);
  const WallClock clock = site.broker.view().wall_clock();
  Json row;
  row["id"] = job.id;
  row["jid"] = summary.jid;
  row["type"] = summary.type;
  // Beanstalk jobs may look like work units. This says which protocol brought it.
  row["is_pushed"] = job.kind == JobKind::kWorkUnit;
  row["queue"] = site.broker.view().queues().at(job.queue).name;
  row["state"] = name_of(job.state);
  row["args"] = text_of(summary.args);
  row["is_cut"] = summary.is_cut;
  row["pri"] = job.pri;
  row["created_at"] = show_time(job.created_at, clock);
  row["enqueued_at"] = show_time(job.enqueued_at, clock);
  // When it is due, or how long it is reserved, or when it died. A ready job has none.
  row["when"] = show_time(job.steady_when(clock), clock);
  row["reservation"] = reservation_of(job, site.broker.view());
  row["progress"] = show_track(job, summary.jid, site.broker.view());
  row["expires_at"] = show_expiry(job);
  row["error"] = nullptr;
  if (const Failure* failure = job.failure()) {
    row["error"] = {{"type", failure->errtype},
                    {"message", cut(failure->message, kErrorShownBytesMax)},
                    {"failures", failure->retry_count + 1},
                    {"retries_left", failure->remaining}};
  }
  return row;
}

static_assert(kMemberCount<JobFields> == 8 && kMemberCount<StoredJob> == 5 &&
                  kMemberCount<JobHistory> == 4 && kMemberCount<JobFeatures> == 10 &&
                  kMemberCount<Failure> == 8,
              "show the new member of a job in its row or detail, or count it here");

std::string write_detail(const Job& job, const Site& site, Time now) {
  const WallClock clock = site.broker.view().wall_clock();
  Json detail = row_of(job, site);
  detail["error"] = job.failure() == nullptr ? Json(nullptr) : failure_of(*job.failure(), clock);
  if (job.failure() != nullptr) detail["error"]["next_why"] = why_next(job, site);
  detail["attempts"] =
      show_attempts(site.broker.view().jobs().attempts_of(job), job.failure(), clock);
  detail["lock"] = show_lock(job);
  detail["held_up"] = show_hold(job, site.format.type_of(job), site.broker.view(), now);
  detail["ttr_s"] = job.ttr_s;
  detail["delay_s"] = job.delay_s;
  detail["batch"] = batch_of(job, site.broker.view());
  const CronEntry* const entry = site.broker.view().cron().waits_for(job.id);
  detail["cron"] = entry == nullptr ? Json(nullptr) : Json(entry->id);
  detail["last_change"] = show_last_change(site, std::to_string(job.id), {"jobs", "locks"});
  const Tallies tallies = job.tallies();
  detail["tallies"] = {{"reserves", tallies.reserves},
                       {"timeouts", tallies.timeouts},
                       {"releases", tallies.releases},
                       {"buries", tallies.buries},
                       {"kicks", tallies.kicks}};
  const bool is_pushed = job.kind == JobKind::kWorkUnit;
  std::string unit;
  if (job.has_body() &&
      job.body_bytes <= (is_pushed ? kBodyRenderedBytesMax : kBodyShownBytesMax) &&
      (is_pushed || site.format.summarize(job).is_work_unit)) {
    site.format.render_whole(job, site.broker.view().queues().at(job.queue).name, clock, unit);
  }
  if (!is_pushed) detail["body"] = job.has_body() ? body_of(job.body_view()) : Json(nullptr);
  if (is_pushed) detail["body"] = unit.empty() ? Json(nullptr) : body_of(unit);
  detail["is_body_unreadable"] = !job.has_body();
  detail["body_bytes"] = is_pushed && !unit.empty() ? unit.size() : job.body_bytes;
  // The page shows the beginning of the body instead.
  if (unit.size() > kBodyShownBytesMax) unit.clear();
  // As text: it may have a number that no type of ours can hold.
  std::string text = dump(detail);
  // Without its closing brace: the work unit is appended as it is.
  text.pop_back();
  return concat(text, ",\"work_unit\":", is_utf8(unit) && !unit.empty() ? unit : "null", "}");
}

Json show_kept_since(const View& view, Time now) {
  const std::optional<Time> since = view.finished().kept_since(now);
  return since ? show_time(*since, view.wall_clock()) : Json(nullptr);
}

std::string_view outcome_of(JobEnd how) {
  switch (how) {
    case JobEnd::kSucceeded:
      return "done";
    case JobEnd::kFailed:
      return "dropped";
    case JobEnd::kExpired:
      return "expired";
    case JobEnd::kGone:
    case JobEnd::kFlushed:
      break;
  }
  return "deleted";
}

bool is_outcome(std::string_view name) {
  constexpr std::array kEnds = {JobEnd::kSucceeded, JobEnd::kFailed, JobEnd::kExpired,
                                JobEnd::kGone};
  return std::any_of(kEnds.begin(), kEnds.end(),
                     [&](JobEnd each) { return outcome_of(each) == name; });
}

WorkUnitFormat::Name name_of(const FinishedJob& job, const WorkUnitFormat& format) {
  if (job.has_name) return format.read_name(job.name());
  if (job.kind == JobKind::kBytes) {
    return {.jid = concat("beanstalk-", job.id), .jobtype = "beanstalk"};
  }
  return {.jid = std::string(job.jid()), .jobtype = {}};
}

Json show_finished(const FinishedJob& job, const Site& site) {
  const WallClock clock = site.broker.view().wall_clock();
  const WorkUnitFormat::Name name = name_of(job, site.format);
  // It may have come since the fleet was looked at, or have left.
  const Workers& workers = site.broker.view().workers();
  const auto live = workers.find(std::string(job.wid()));
  const Fleet::Known* const left = site.fleet.find(job.wid());
  Json hostname;
  Json pid;
  if (live != workers.end()) {
    hostname = live->second.hostname;
    pid = live->second.pid;
  } else if (left != nullptr) {
    hostname = left->hostname;
    pid = left->pid;
  }
  return {{"id", job.id},
          {"jid", name.jid},
          {"type", name.jobtype},
          {"is_pushed", job.kind == JobKind::kWorkUnit},
          {"queue", job.queue()},
          {"outcome", outcome_of(job.how)},
          {"created_at", show_time(job.created_at, clock)},
          {"enqueued_at", show_time(job.enqueued_at, clock)},
          {"began_at", show_time(job.began_at, clock)},
          {"ended_at", show_time(job.ended_at, clock)},
          {"wid", text_or_null(job.wid())},
          {"hostname", std::move(hostname)},
          {"pid", std::move(pid)},
          {"client", job.client == 0 ? Json(nullptr) : Json(job.client)},
          {"runs", job.reserves}};
}

Json show_whole_finished(const FinishedJob& job, const Site& site) {
  Json detail = show_finished(job, site);
  detail["attempts"] = show_attempts(job.attempts.get(), nullptr, site.broker.view().wall_clock());
  detail["args"] = job.args ? Json(text_of(*job.args)) : Json(nullptr);
  detail["last_change"] = show_last_change(site, std::to_string(job.id), {"jobs", "locks"});
  detail["cron"] = nullptr;
  site.broker.view().cron().each([&](const CronEntry& entry) {
    if (std::ranges::find(entry.runs, job.id, &CronRun::job) != entry.runs.end()) {
      detail["cron"] = entry.id;
    }
  });
  return detail;
}

}  // namespace millrace::http
