#include <cstdio>

#include "base/check.hpp"
#include "base/number.hpp"
#include "core/ports/cron_board.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "http/routes/handlers.hpp"
#include "http/routes/job_view.hpp"

/// The cron entries of the config files, and their runs.
namespace millrace::http {
namespace {

/// A time of the wall clock, at a place whose clocks are that much ahead of UTC:
/// `2026-11-24T02:30:00+01:00`.
std::string show_local(Time wall, std::chrono::seconds offset) {
  std::string text = show_time(wall + offset, {}).get<std::string>();
  // Runs are planned for whole seconds.
  text.resize(text.find('.'));
  const auto minutes =
      std::chrono::duration_cast<std::chrono::minutes>(std::chrono::abs(offset)).count();
  char zone[32];
  std::snprintf(zone, sizeof zone, "%c%02d:%02d", offset.count() < 0 ? '-' : '+',
                static_cast<int>(minutes / 60), static_cast<int>(minutes % 60));
  return text + zone;
}

Json show_next(const CronBoard::Entry& entry) {
  Json next = Json::array();
  for (std::size_t i = 0; i < entry.next.size(); ++i) {
    next.push_back(show_local(entry.next[i], entry.next_offsets[i]));
  }
  return next;
}

Json show_outcome(const std::optional<CronRunEnd>& end) {
  return end ? Json(outcome_of(end->how)) : Json(nullptr);
}

Json show_took(const std::optional<CronRunEnd>& end) {
  const bool has_run = end && end->began_at != Time{};
  return has_run ? show_length(end->ended_at - end->began_at) : Json(nullptr);
}

/// What former versions did not store in the run, but among the jobs that ended last: these are
/// searched one by one.
std::optional<CronRunEnd> find_end(const CronRun& run, const View& view, Time now) {
  const FinishedJob* const ended = view.finished().find(run.job, now);
  if (ended == nullptr) return std::nullopt;
  return CronRunEnd{.how = ended->how, .began_at = ended->began_at, .ended_at = ended->ended_at};
}

/// Times of runs are those of the wall clock already.
Json show_run(const CronRun& run, const View& view, Time now) {
  const auto state = view.jobs().state_of(run.job);
  const std::optional<CronRunEnd> end = run.end || state ? run.end : find_end(run, view, now);
  return {{"planned_at", show_time(run.planned, {})},
          {"at", show_time(run.at, {})},
          {"is_by_hand", run.is_by_hand},
          {"id", run.job == 0 ? Json(nullptr) : Json(run.job)},
          {"jid", text_or_null(run.jid)},
          {"state", state ? Json(name_of(*state)) : Json(nullptr)},
          {"outcome", show_outcome(end)},
          {"took_s", show_took(end)},
          {"problem", text_or_null(run.problem)}};
}

/// How the last runs went, oldest first: what a list draws. No end is searched for here, since a
/// page has a thousand of them.
Json show_recent_runs(const CronBoard::Entry& entry, const View& view) {
  Json recent = Json::array();
  for (const CronRun& run : entry.runs) {
    const auto state = view.jobs().state_of(run.job);
    recent.push_back({{"state", state ? Json(name_of(*state)) : Json(nullptr)},
                      {"outcome", show_outcome(run.end)},
                      {"took_s", show_took(run.end)},
                      {"is_refused", run.job == 0}});
  }
  return recent;
}

Json show_entry(const CronBoard::Entry& entry, const View& view, Time now) {
  return {{"name", entry.id},
          {"is_named", entry.is_named},
          {"schedule", entry.schedule},
          {"words", text_or_null(entry.words)},
          {"time_zone", entry.time_zone},
          {"catch_up", entry.catch_up},
          {"type", entry.jobtype},
          {"queue", entry.queue},
          {"is_enabled", entry.is_enabled},
          {"is_paused", entry.is_paused},
          {"last", entry.runs.empty() ? Json(nullptr) : show_run(entry.runs.back(), view, now)},
          {"recent", show_recent_runs(entry, view)},
          {"next", show_next(entry)}};
}

Response say_no_entry(const Call& /*call*/) {
  return refuse(404, "the config files have no such cron entry");
}

Response say_turned(const Call& call, const Answer<Done>& turned, bool is_paused) {
  if (!turned && turned.error() == Refusal::kNoRoom) return refuse_for_room();
  if (!turned) return say_no_entry(call);
  return {.body = dump({{"name", call.name}, {"is_paused", is_paused}}), .is_change = true};
}

std::optional<std::string> queue_of_entry(const Call& call) {
  const auto entry = call.site.cron.find(call.name);
  return entry ? std::optional(entry->queue) : std::nullopt;
}

}  // namespace

const Owner kCronOwner{.queue_of = queue_of_entry, .say_gone = say_no_entry};

Response list_cron(const Call& call, const Scope& scope) {
  const Outcome<std::size_t> limit = read_limit(call.request);
  if (!limit) return refuse(400, limit.error().text);
  const std::string_view cursor = call.request.param("cursor");
  const auto place =
      cursor.empty() ? std::optional<std::size_t>(0) : parse_number<std::size_t>(cursor);
  if (!place) return refuse(400, kWrongCursor);
  const CronBoard& board = call.site.cron;
  Json entries = Json::array();
  const std::vector<CronBoard::Entry> page = board.page(*place, *limit);
  for (const CronBoard::Entry& entry : page) {
    if (!scope.has(entry.queue)) continue;
    entries.push_back(show_entry(entry, call.site.broker.view(), call.moment.now));
  }
  const std::size_t next = *place + page.size();
  const bool has_more = !page.empty() && next < board.count();
  return {.body = dump({{"entries", std::move(entries)},
                        {"total", scope.is_all() ? Json(board.count()) : Json(nullptr)},
                        {"next", has_more ? Json(std::to_string(next)) : Json(nullptr)}})};
}

Response show_cron(const Call& call) {
  const auto entry = call.site.cron.find(call.name);
  if (!entry) return say_no_entry(call);
  const View& view = call.site.broker.view();
  Json shown = show_entry(*entry, view, call.moment.now);
  shown["args"] = entry->args;
  shown["custom"] = text_or_null(entry->custom);
  shown["retry"] = entry->retry ? Json(*entry->retry) : Json(nullptr);
  shown["reserve_for"] = entry->reserve_for ? Json(*entry->reserve_for) : Json(nullptr);
  shown["jitter"] = entry->jitter.count();
  Json runs = Json::array();
  for (auto run = entry->runs.rbegin(); run != entry->runs.rend(); ++run) {
    runs.push_back(show_run(*run, view, call.moment.now));
  }
  shown["runs"] = std::move(runs);
  return {.body = dump(shown)};
}

Response run_cron(const Call& call) {
  CronBoard& board = call.site.cron;
  if (!board.find(call.name)) return say_no_entry(call);
  const Result<std::string, PushRefusal> jid = board.run_now(call.name, call.moment.now);
  if (!jid) {
    // The request made sense: it says nothing of the job.
    const bool is_invalid = jid.error().reason == PushRefusal::Reason::kInvalid;
    return is_invalid ? refuse(409, jid.error().text) : refuse_push(jid.error());
  }
  const JobId id = board.find(call.name)->runs.back().job;
  const auto state = call.site.broker.view().jobs().state_of(id);
  // A worker that waited for it may hold it by now, but cannot have finished it.
  CHECK(state);
  return {.status = 201,
          .body = dump({{"id", id}, {"jid", *jid}, {"state", name_of(*state)}}),
          .is_change = true,
          .changed = concat("job ", id)};
}

Response pause_cron(const Call& call) {
  return say_turned(call, call.site.cron.pause(call.name, call.moment.now), true);
}

Response resume_cron(const Call& call) {
  return say_turned(call, call.site.cron.resume(call.name, call.moment.now), false);
}

}  // namespace millrace::http
