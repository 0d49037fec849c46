#include "http/routes/job_view.hpp"

#include "base/base64.hpp"
#include "base/member_count.hpp"
#include "base/text.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "http/routes/batches/batch_view.hpp"
#include "http/routes/features/attempt_view.hpp"
#include "http/routes/features/job_features.hpp"
#include "http/routes/job_filter.hpp"

namespace millrace::http {
namespace {

/// How long 95 % of the runs of its queue took at most.
Json usual_run(const Job& job, const View& view) {
  const auto& meter = view.queue_of(job).meter;
  return meter ? show_length(meter->run.quantile(0.95)) : Json(nullptr);
}

Json reservation_of(const Job& job, const View& view) {
  const Reservation* held = job.reservation();
  if (held == nullptr) return nullptr;
  const WallClock clock = view.wall_clock();
  return {{"since", show_time(held->reserved_at, clock)},
          {"usual_run_s", usual_run(job, view)},
          {"until", show_time(job.when, clock)},
          {"wid", held->is_held_by_worker() ? Json(held->wid) : Json(nullptr)},
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
  const Attempts* const attempts = site.broker.view().attempts_of(job);
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

Json show_counts(const View& view) {
  return {{"ready", view.job_count(JobState::kReady)},
          {"reserved", view.job_count(JobState::kReserved)},
          {"scheduled", view.job_count(JobState::kScheduled)},
          {"retrying", view.job_count(JobState::kRetrying)},
          {"dead", view.job_count(JobState::kDead)}};
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
  row["queue"] = site.broker.view().queue_of(job).name;
  row["state"] = name_of(job.state);
  row["args"] = text_of(cut(summary.args, WorkUnitFormat::kSummaryArgsBytes));
  row["is_cut"] = summary.is_cut;
  row["pri"] = job.pri;
  row["created_at"] = show_time(job.created_at, clock);
  row["enqueued_at"] = show_time(job.enqueued_at, clock);
  // When it is due, or how long it is reserved, or when it died. A ready job has none.
  row["when"] = show_time(job.steady_when(clock), clock);
  row["reservation"] = reservation_of(job, site.broker.view());
  row["progress"] = show_progress(job, summary.jid, site.broker.view());
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
                  kMemberCount<Failure> == 7,
              "show the new member of a job in its row or detail, or count it here");

std::string write_detail(const Job& job, const Site& site, Time now) {
  const WallClock clock = site.broker.view().wall_clock();
  Json detail = row_of(job, site);
  detail["error"] = job.failure() == nullptr ? Json(nullptr) : failure_of(*job.failure(), clock);
  if (job.failure() != nullptr) detail["error"]["next_why"] = why_next(job, site);
  detail["attempts"] = show_attempts(job, site.broker.view());
  detail["lock"] = show_lock(job);
  detail["held_up"] = show_hold(job, site.format.type_of(job), site.broker.view(), now);
  detail["ttr_s"] = job.ttr_s;
  detail["delay_s"] = job.delay_s;
  detail["batch"] = batch_of(job, site.broker.view());
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
    site.format.render_whole(job, site.broker.view().queue_of(job).name, clock, unit);
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

}  // namespace millrace::http
