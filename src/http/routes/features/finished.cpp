#include <memory>

#include "base/number.hpp"
#include "base/text.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "http/routes/handlers.hpp"
#include "http/routes/job_filter.hpp"
#include "http/routes/job_view.hpp"

/// Jobs that have ended.
namespace millrace::http {
namespace {

/// How many of them one request looks at, and one turn of the broker: to read a type takes time.
constexpr std::size_t kLookedAtMax = 5'000;
constexpr std::size_t kLookedAtATurn = 250;

struct FinishedSearch {
  FinishedJobs::Number before = 0;
  std::size_t limit = kPageDefault;
  std::string queue;  ///< as `type`
  std::string type;   ///< exactly; with `*` at its end: the beginning; empty: any
  std::string outcome;
  std::string wid;                 ///< of the worker that held it at its end; empty: any
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

Outcome<FinishedSearch> read_search(const Request& request, const FinishedJobs& finished,
                                    WallClock clock) {
  FinishedSearch search{.before = finished.end(),
                        .queue = std::string(request.param("queue")),
                        .type = std::string(request.param("type")),
                        .outcome = std::string(request.param("outcome")),
                        .wid = std::string(request.param("wid"))};
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
  if (!before) return Problem{kWrongCursor};
  search.before = *before;
  return search;
}

/// A list that is being made.
struct FinishedListing {
  const Site& site;
  ScopedQueues queues;
  FinishedSearch search;  ///< from `before` on, what is not looked at yet
  Json rows = Json::array();
  Json next = nullptr;
  std::size_t looked_at = 0;
  std::size_t hidden = 0;  ///< of them: of queues that the user may not see

  [[nodiscard]] bool is_wanted_here(const FinishedJob& job) const {
    if (job.ended_at >= search.ended_until) return false;
    if (!search.wid.empty() && job.wid() != search.wid) return false;
    if (!search.queue.empty() && !is_wanted(job.queue(), search.queue)) return false;
    if (!search.outcome.empty() && http::outcome_of(job.how) != search.outcome) return false;
    return search.type.empty() || is_wanted(name_of(job, site.format).jobtype, search.type);
  }

  /// One turn. True: it was the last one.
  bool work(Time now) {
    bool is_over = true;
    std::size_t left = kLookedAtATurn;
    const auto visit = [&](FinishedJobs::Number number, const FinishedJob& job) {
      // One further than what is shown: there is a next page.
      if (rows.size() == search.limit || looked_at == kLookedAtMax) {
        next = std::to_string(number + 1);
        return false;
      }
      // Earlier ones follow.
      if (job.ended_at < search.ended_since) return false;
      if (left == 0) {
        is_over = false;
        return false;
      }
      --left;
      search.before = number;
      ++looked_at;
      if (!queues.scope().has(job.queue())) return ++hidden > 0;
      if (is_wanted_here(job)) rows.push_back(show_finished(job, site));
      return true;
    };
    site.broker.view().finished().each_before(search.before, now, visit);
    return is_over;
  }
};

// Shared by the copies of a function: it can only have what can be copied.
Response go_on_listing_finished(const std::shared_ptr<FinishedListing>& listing, Time now) {
  if (!listing->work(now)) {
    return {.go_on = [listing](Time then) { return go_on_listing_finished(listing, then); }};
  }
  const FinishedJobs& finished = listing->site.broker.view().finished();
  const FinishedJobs::Limits& limits = finished.limits();
  return {.body = dump(
              {{"jobs", std::move(listing->rows)},
               {"looked_at", listing->looked_at - listing->hidden},
               {"next", std::move(listing->next)},
               {"kept", listing->queues.is_all() ? Json(finished.shown(now)) : Json(nullptr)},
               {"since", show_kept_since(listing->site.broker.view(), now)},
               {"limits",
                {{"jobs", limits.jobs_max},
                 {"is_durable", limits.is_durable},
                 {"seconds", std::chrono::floor<std::chrono::seconds>(limits.age_max).count()}}},
               {"counts", show_counts(listing->site.broker.view(), listing->queues)}})};
}

const FinishedJob* find_finished(const Call& call) {
  const auto id = parse_number<JobId>(call.name);
  return id ? call.site.broker.view().finished().find(*id, call.moment.now) : nullptr;
}

std::optional<std::string> queue_of_finished(const Call& call) {
  const FinishedJob* const job = find_finished(call);
  return job == nullptr ? std::nullopt : std::optional(std::string(job->queue()));
}

Response say_not_kept(const Call& call) {
  if (!parse_number<JobId>(call.name)) return refuse(400, "that is not a job number");
  return refuse(404, "no such job is among the last that have ended");
}

}  // namespace

const Owner kFinishedOwner{.queue_of = queue_of_finished, .say_gone = say_not_kept};

Response list_finished(const Call& call, const ScopedQueues& queues) {
  Outcome<FinishedSearch> search = read_search(call.request, call.site.broker.view().finished(),
                                               call.site.broker.view().wall_clock());
  if (!search) return refuse(400, search.error().text);
  // Shared: see there.
  auto listing = std::make_shared<FinishedListing>(
      FinishedListing{.site = call.site, .queues = queues, .search = *std::move(search)});
  return go_on_listing_finished(listing, call.moment.now);
}

Response show_finished_job(const Call& call) {
  const FinishedJob* const job = find_finished(call);
  if (job == nullptr) return say_not_kept(call);
  return {.body = dump(show_whole_finished(*job, call.site))};
}

}  // namespace millrace::http
