
#include "base/number.hpp"
#include "http/kit/input.hpp"
#include "http/routes/handlers.hpp"
#include "http/routes/job_filter.hpp"
#include "http/routes/job_view.hpp"

/// Reading jobs.
namespace millrace::http {
namespace {

/// The parameters of a list.
struct Search {
  ScanOrder order;
  std::optional<ScanPlace> after;
  JobFilter filter;
  std::size_t limit = kPageDefault;
};

Outcome<Search> read_search(const Request& request) {
  Search search;
  const std::string_view state = request.param("state");
  const std::optional<JobState> parsed = parse_state(state.empty() ? "ready" : state);
  if (!parsed) return Problem{"state is not scheduled, ready, reserved, retrying or dead"};
  const Outcome<JobFilter> filter = read_filter(request);
  if (!filter) return filter.error();
  const Outcome<std::size_t> limit = read_limit(request);
  if (!limit) return limit.error();
  const std::string_view cursor = request.param("cursor");
  search.after = parse_place(cursor);
  if (!cursor.empty() && !search.after) return Problem{"cursor is not one that a list gave"};
  const std::string_view order = request.param("order");
  if (!order.empty() && order != "asc" && order != "desc")
    return Problem{"order is not asc or desc"};
  search.filter = *filter;
  search.limit = *limit;
  search.order = {
      .state = *parsed, .queue = filter->queue.value_or(""), .is_backwards = order == "desc"};
  return search;
}

/// A search for a jid alone is cheap: of a pushed job it reads nothing else.
std::size_t steps_of(const JobFilter& filter) {
  const bool is_cheap = filter.id && !filter.type && !filter.text;
  return is_cheap ? kJidSearchSteps : kSearchSteps;
}

/// Walks on from the cursor until `found` answers false or the slice is over. Answers how far it
/// got.
Json walk(const Call& call, const Search& search, const std::function<bool(const Job&)>& found) {
  const View& view = call.site.broker.view();
  const auto matches = make_matcher(search.filter, call.site.format, call.moment.now);
  const bool reads_all = search.filter.text.has_value();
  // The jid of a beanstalk job may be in its body.
  const bool reads_put = search.filter.id.has_value();
  const std::size_t steps = steps_of(search.filter);
  std::size_t read_bytes = 0;
  const ScanEnd end = view.scan(search.order, search.after, steps, [&](const Job& job) {
    const bool is_read = reads_all || (reads_put && job.kind == JobKind::kBytes);
    // Bodies may have to be read from the disk: a slice is bounded by their bytes too.
    if (is_read) read_bytes += job.body_bytes;
    const bool goes_on = (matches && !matches(job, view.queue_of(job))) || found(job);
    return goes_on && read_bytes < kSearchBytes;
  });
  return {{"looked_at", end.jobs},
          {"to_look_at", view.scan_length(search.order)},
          {"next", end.next ? Json(show_place(*end.next)) : Json(nullptr)}};
}

const Job* find_job(const Call& call) {
  const auto id = parse_number<JobId>(call.name);
  return id ? call.site.broker.view().find(*id) : nullptr;
}

}  // namespace

Response say_gone(const Call& call) {
  if (!parse_number<JobId>(call.name)) return refuse(400, "that is not a job number");
  return refuse(404, "there is no such job; finished and deleted jobs are not kept");
}

Response list_jobs(const Call& call) {
  const Outcome<Search> search = read_search(call.request);
  if (!search) return refuse(400, search.error().text);
  Json rows = Json::array();
  const Json progress = walk(call, *search, [&](const Job& job) {
    rows.push_back(row_of(job, call.site));
    return rows.size() < search->limit;
  });
  Json page{{"state", name_of(search->order.state)}, {"jobs", std::move(rows)}};
  page["counts"] = show_counts(call.site.broker.view());
  page.update(progress);
  return {.body = dump(page)};
}

Response count_jobs(const Call& call) {
  const Outcome<Search> search = read_search(call.request);
  if (!search) return refuse(400, search.error().text);
  const View& view = call.site.broker.view();
  Json count;
  // The server has the number: nothing need be walked.
  if (search->filter.is_empty()) {
    const std::uint64_t all = view.job_count(search->order.state);
    count.update({{"matched", all}, {"looked_at", all}, {"to_look_at", all}, {"next", nullptr}});
    return {.body = dump(count)};
  }
  std::uint64_t matched = 0;
  const Json progress = walk(call, *search, [&](const Job&) { return ++matched > 0; });
  count["matched"] = matched;
  count.update(progress);
  return {.body = dump(count)};
}

Response show_job(const Call& call) {
  const Job* job = find_job(call);
  return job == nullptr ? say_gone(call) : Response{.body = write_detail(*job, call.site)};
}

Response show_body(const Call& call) {
  const Job* job = find_job(call);
  if (job == nullptr) return say_gone(call);
  Response response{.type = "application/octet-stream"};
  if (job->kind == JobKind::kBytes) {
    response.body = job->body_view();
  } else {
    const View& view = call.site.broker.view();
    call.site.format.render(*job, view.queue_of(*job).name, view.wall_clock(), response.body);
  }
  // A download: a body may be a page with scripts, which must not run as ours.
  response.headers["Content-Disposition"] =
      "attachment; filename=\"job-" + std::to_string(job->id) + ".bin\"";
  return response;
}

}  // namespace millrace::http
