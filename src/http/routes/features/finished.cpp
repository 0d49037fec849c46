#include "base/number.hpp"
#include "base/text.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "http/routes/features/finished_view.hpp"
#include "http/routes/handlers.hpp"
#include "http/routes/job_filter.hpp"
#include "http/routes/job_view.hpp"

/// Jobs that have ended.
namespace millrace::http {
namespace {

/// How many of them one request looks at.
constexpr std::size_t kLookedAtMax = 5'000;

struct Search {
  FinishedJobs::Number before = 0;
  std::size_t limit = kPageDefault;
  std::string queue;  ///< as `type`
  std::string type;   ///< exactly; with `*` at its end: the beginning; empty: any
  std::string outcome;
  Time ended_since = Time::min();  ///< as all times of the core
  Time ended_until = Time::max();  ///< from there on none
};

/// Milliseconds since 1970, by the wall clock. False: the parameter is not that.
bool read_time(const Request& request, const char* name, WallClock clock, Time& to) {
  const std::string_view text = request.param(name);
  if (text.empty()) return true;
  const auto ms = parse_number<std::uint64_t>(text);
  if (ms) to = time_of_ms(*ms, clock);
  return ms.has_value();
}

Outcome<Search> read_search(const Request& request, const FinishedJobs& finished, WallClock clock) {
  Search search{.before = finished.end(),
                .queue = std::string(request.param("queue")),
                .type = std::string(request.param("type")),
                .outcome = std::string(request.param("outcome"))};
  for (const char* name : {"queue", "type"}) {
    if (!is_utf8(request.param(name))) return Problem{concat(name, " is not UTF-8")};
  }
  const Outcome<std::size_t> limit = read_limit(request);
  if (!limit) return limit.error();
  search.limit = *limit;
  if (!search.outcome.empty() && !is_outcome(search.outcome)) {
    return Problem{"outcome is not done, dropped, deleted or expired"};
  }
  if (!read_time(request, "ended_since_ms", clock, search.ended_since) ||
      !read_time(request, "ended_until_ms", clock, search.ended_until)) {
    return Problem{"ended_since_ms or ended_until_ms is not a number of milliseconds"};
  }
  const std::string_view cursor = request.param("cursor");
  if (cursor.empty()) return search;
  const auto before = parse_number<FinishedJobs::Number>(cursor);
  if (!before) return Problem{"cursor is not one that a list gave"};
  search.before = *before;
  return search;
}

}  // namespace

Response list_finished(const Call& call) {
  const FinishedJobs& finished = call.site.broker.finished();
  const Outcome<Search> search =
      read_search(call.request, finished, call.site.broker.view().wall_clock());
  if (!search) return refuse(400, search.error().text);
  Json rows = Json::array();
  Json next = nullptr;
  std::size_t looked_at = 0;
  const auto visit = [&](FinishedJobs::Number number, const FinishedJob& job) {
    // One further than what is shown: there is a next page.
    if (rows.size() == search->limit || looked_at == kLookedAtMax) {
      next = std::to_string(number + 1);
      return false;
    }
    // Earlier ones follow.
    if (job.ended_at < search->ended_since) return false;
    ++looked_at;
    if (job.ended_at >= search->ended_until) return true;
    if (!search->queue.empty() && !is_wanted(job.queue(), search->queue)) return true;
    if (!search->outcome.empty() && outcome_of(job.how) != search->outcome) return true;
    if (!search->type.empty() && !is_wanted(name_of(job, call.site.format).jobtype, search->type)) {
      return true;
    }
    rows.push_back(show_finished(job, call.site));
    return true;
  };
  finished.each_before(search->before, call.moment.now, visit);
  const FinishedJobs::Limits& limits = finished.limits();
  return {.body = dump(
              {{"jobs", std::move(rows)},
               {"looked_at", looked_at},
               {"next", std::move(next)},
               {"kept", finished.shown(call.moment.now)},
               {"limits",
                {{"jobs", limits.jobs_max},
                 {"seconds", std::chrono::floor<std::chrono::seconds>(limits.age_max).count()}}},
               {"counts", show_counts(call.site.broker.view())}})};
}

Response show_finished_job(const Call& call) {
  const auto id = parse_number<JobId>(call.name);
  if (!id) return refuse(400, "that is not a job number");
  const FinishedJob* job = call.site.broker.finished().find(*id, call.moment.now);
  if (job == nullptr) return refuse(404, "no such job is among the last that have ended");
  return {.body = dump(show_finished(*job, call.site))};
}

}  // namespace millrace::http
