#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/number.hpp"
#include "base/text.hpp"
#include "http/kit/input.hpp"
#include "http/routes/handlers.hpp"
#include "http/routes/job_filter.hpp"
#include "http/routes/job_view.hpp"

/// Reading jobs.
namespace millrace::http {
namespace {

/// How many queues and types an answer names. Of types, all that are measured.
constexpr std::size_t kQueuesShownMax = 50;
constexpr std::size_t kTypesShownMax = TypeMeters::kTypesMax;

/// Of pushed jobs with the same jid.
constexpr std::size_t kNamesakesShownMax = 100;
/// Their bodies, of which one turn may have so many bytes to read from the disk.
constexpr std::size_t kNamesakesBytes = 256 * 1024;

/// The parameters of a list.
struct Search {
  ScanOrder order;
  std::optional<ScanPlace> after;
  JobFilter filter;
  std::size_t limit = kPageDefault;
  bool wants_breakdown = false;
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
  if (!cursor.empty() && !search.after) return Problem{kWrongCursor};
  const std::string_view order = request.param("order");
  if (!order.empty() && order != "asc" && order != "desc")
    return Problem{"order is not asc or desc"};
  const std::string_view breakdown = request.param("breakdown");
  if (!breakdown.empty() && breakdown != "1") return Problem{"breakdown is not 1"};
  search.wants_breakdown = !breakdown.empty();
  search.filter = *filter;
  search.limit = *limit;
  search.order = {.state = *parsed,
                  .queue = queue_of(*filter),
                  .queues = queues_of(*filter),
                  .batch = batch_of(*filter),
                  .group = group_of(*filter),
                  .is_backwards = order == "desc"};
  return search;
}

/// A search for a jid alone is cheap: of a pushed job it reads nothing else.
std::size_t steps_of(const FilterReads& reads) {
  return reads.only_jids ? kJidSearchSteps : kSearchSteps;
}

/// A walk from the cursor on over the jobs that match, in as many turns as it takes.
class JobWalk {
 public:
  JobWalk(const Call& call, const Search& search, const ScopedQueues& queues)
      : view_(call.site.broker.view()),
        queues_(queues),
        order_(search.order),
        after_(search.after),
        matches_(make_matcher(search.filter, body_reading(call.site), call.moment.now)),
        reads_(reads_of(search.filter)),
        steps_left_(steps_of(reads_)) {
    reads_.summaries |= search.wants_breakdown;
    if (order_.queue.empty() && order_.queues.empty()) order_.queue = queues_.only(view_);
    // As if there was no such queue.
    is_at_end_ = !order_.queue.empty() && !queues_.scope().has(order_.queue);
  }

  /// One turn. Goes on until `found` answers false for a job. True: the walk is over.
  bool work(const std::function<bool(const Job&)>& found) {
    Steps steps(kSliceSteps);
    bool should_continue = true;
    if (const JobId id = std::exchange(asked_, 0); id != 0) {
      const Job* job = view_.jobs().find(id);
      should_continue = job == nullptr || job->state != order_.state || !is_seen(*job) ||
                        look_at(*job, steps, found);
    }
    if (should_continue && steps_left_ > 0 && !is_at_end_) scan(steps, found);
    return asked_ == 0;
  }

  [[nodiscard]] JobState state() const { return order_.state; }

  [[nodiscard]] const ScopedQueues& queues() const { return queues_; }

  [[nodiscard]] Json progress() const {
    return {{"looked_at", looked_at_},
            {"to_look_at", queues_.is_all() ? view_.jobs().scan_length(order_) : seen_length()},
            {"next", is_at_end_ ? Json(nullptr) : Json(show_place(*after_))}};
  }

 private:
  using Found = std::function<bool(const Job&)>;

  /// The others are not counted: nobody learns how many they are.
  [[nodiscard]] std::uint64_t seen_length() const {
    const bool is_of_queue =
        !order_.queue.empty() && !order_.is_by_id() && order_.state != JobState::kReserved;
    if (is_of_queue && queues_.scope().has(order_.queue)) return view_.jobs().scan_length(order_);
    return is_at_end_ ? looked_at_ : std::max(looked_at_, queues_.count(order_.state, view_));
  }

  void scan(Steps& steps, const Found& found) {
    std::uint64_t seen = 0;
    const ScanEnd end = view_.jobs().scan(order_, after_, steps_left_, [&](const Job& job) {
      if (!is_seen(job)) return true;
      ++seen;
      const bool is_read = reads_.bodies || (reads_.summaries && job.kind == JobKind::kBytes);
      // Bodies may have to be read from the disk: a request is bounded by their bytes too.
      if (is_read) read_bytes_ += job.body_bytes;
      return look_at(job, steps, found);
    });
    looked_at_ += queues_.is_all() ? end.jobs : seen;
    steps_left_ -= std::min(steps_left_, end.jobs);
    after_ = end.next;
    is_at_end_ = !end.next;
  }

  [[nodiscard]] bool is_seen(const Job& job) const {
    return queues_.is_all() || queues_.has(view_.queues().at(job.queue));
  }

  bool look_at(const Job& job, Steps& steps, const Found& found) {
    const Match match = matches_ ? matches_(job, view_.queues().at(job.queue), steps) : Match::kYes;
    if (match == Match::kUnfinished) {
      asked_ = job.id;
      return false;
    }
    return (match == Match::kNo || found(job)) && read_bytes_ < kSearchBytes;
  }

  const View& view_;
  ScopedQueues queues_;
  ScanOrder order_;
  std::optional<ScanPlace> after_;
  JobMatcher matches_;
  FilterReads reads_;
  std::size_t steps_left_;
  std::size_t read_bytes_ = 0;
  std::uint64_t looked_at_ = 0;
  JobId asked_ = 0;  ///< the job that the next turn begins with; 0: none
  bool is_at_end_ = false;
};

/// A list that is being made.
struct Listing {
  Site& site;
  std::size_t limit;
  JobWalk walk;
  Json rows = Json::array();
};

// Shared by the copies of a function: it can only have what can be copied.
Response go_on_listing(const std::shared_ptr<Listing>& listing) {
  const bool is_over = listing->walk.work([&](const Job& job) {
    listing->rows.push_back(row_of(job, listing->site));
    return listing->rows.size() < listing->limit;
  });
  if (!is_over) return {.go_on = [listing](Time) { return go_on_listing(listing); }};
  Json page{{"state", name_of(listing->walk.state())}, {"jobs", std::move(listing->rows)}};
  page["counts"] = show_counts(listing->site.broker.view(), listing->walk.queues());
  page.update(listing->walk.progress());
  return {.body = dump(page)};
}

/// How many jobs have which name.
class NameCounts {
 public:
  void add(const std::string& name) { ++counts_[name]; }

  /// The most frequent names. The rest is the difference to the number of all jobs.
  [[nodiscard]] Json show(std::size_t names_max) const {
    std::vector<std::pair<std::uint64_t, std::string_view>> sorted;
    for (const auto& [name, count] : counts_) sorted.emplace_back(count, name);
    const std::size_t shown = std::min(sorted.size(), names_max);
    std::partial_sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(shown),
                      sorted.end(), std::greater<>());
    Json all = Json::array();
    for (std::size_t i = 0; i < shown; ++i) {
      all.push_back({{"name", sorted[i].second}, {"jobs", sorted[i].first}});
    }
    return all;
  }

 private:
  absl::flat_hash_map<std::string, std::uint64_t> counts_;
};

struct Breakdown {
  NameCounts queues;
  NameCounts types;

  void add(const Job& job, const Site& site) {
    queues.add(site.broker.view().queues().at(job.queue).name);
    types.add(site.format.summarize(job).type);
  }
};

struct Counting {
  const Site& site;
  JobWalk walk;
  std::optional<Breakdown> breakdown = {};
  std::uint64_t matched = 0;

  bool add(const Job& job) {
    if (breakdown) breakdown->add(job, site);
    return ++matched > 0;
  }
};

// Shared: see above.
Response go_on_counting(const std::shared_ptr<Counting>& counting) {
  if (!counting->walk.work([&](const Job& job) { return counting->add(job); })) {
    return {.go_on = [counting](Time) { return go_on_counting(counting); }};
  }
  Json count{{"matched", counting->matched}};
  if (const auto& parts = counting->breakdown) {
    count.update({{"queues", parts->queues.show(kQueuesShownMax)},
                  {"types", parts->types.show(kTypesShownMax)}});
  }
  count.update(counting->walk.progress());
  return {.body = dump(count)};
}

/// A search for the jobs of one jid.
struct Finding {
  Finding(const Call& call, const ScopedQueues& in_scope)
      : site(call.site),
        queues(in_scope),
        jid(call.name),
        hash(site.format.hash_of_name(jid)),
        // One further, to know whether there are more.
        ids(site.broker.view().jobs().named(hash, kNamesakesShownMax + 1)),
        ended_to(site.broker.view().finished().end()) {
    const View& view = site.broker.view();
    if (!queues.is_all()) {
      std::erase_if(ids, [&](JobId id) {
        return !queues.has(view.queues().at(view.jobs().find_unread(id)->queue));
      });
    }
    has_more = ids.size() > kNamesakesShownMax;
    if (has_more) ids.pop_back();
    // The first one is taken from the end.
    std::reverse(ids.begin(), ids.end());
  }

  /// One turn: bodies may have to be read from the disk. True: it was the last one.
  bool work() {
    // Of jobs that end from now on there are few by then.
    if (!site.broker.view().finished().hash_some_names(ended_to)) return false;
    const View& view = site.broker.view();
    for (std::size_t bytes = 0; !ids.empty() && bytes < kNamesakesBytes; ids.pop_back()) {
      const Job* job = view.jobs().find(ids.back());
      // It may have been moved meanwhile.
      if (job == nullptr || !queues.has(view.queues().at(job->queue))) continue;
      bytes += job->body_bytes;
      // Another jid may have the same hash.
      if (site.format.identify(*job).jid == jid) rows.push_back(row_of(*job, site));
    }
    return ids.empty();
  }

  Site& site;
  ScopedQueues queues;
  std::string jid;
  std::uint32_t hash;
  std::vector<JobId> ids;  ///< not looked at yet
  const FinishedJobs::Number ended_to;
  bool has_more = false;
  Json rows = Json::array();
};

Json finished_of(const Finding& finding, Time now) {
  Json rows = Json::array();
  finding.site.broker.view().finished().each_named(
      finding.hash, kNamesakesShownMax, now, [&](const FinishedJob& job) {
        if (!finding.queues.scope().has(job.queue())) return;
        if (name_of(job, finding.site.format).jid == finding.jid)
          rows.push_back(show_finished(job, finding.site));
      });
  return rows;
}

// Shared: see above.
Response go_on_finding(const std::shared_ptr<Finding>& finding, Time now) {
  if (!finding->work())
    return {.go_on = [finding](Time then) { return go_on_finding(finding, then); }};
  return {.body = dump({{"jid", finding->jid},
                        {"jobs", std::move(finding->rows)},
                        {"has_more", finding->has_more},
                        {"finished", finished_of(*finding, now)},
                        {"finished_since", show_kept_since(finding->site.broker.view(), now)},
                        {"counts", show_counts(finding->site.broker.view(), finding->queues)}})};
}

/// A body of megabytes, which is copied outside of the broker's thread. nullopt: it is to be
/// rendered.
std::optional<LongText> long_body(const Job& job, const View& view, const WorkUnitFormat& format) {
  if (job.body_bytes <= WorkUnitFormat::kLongBodyBytes) return std::nullopt;
  const BodyPin pin = view.jobs().pin_body(job);
  if (job.kind == JobKind::kWorkUnit) {
    return format.render_whole_long(job, view.queues().at(job.queue).name, view.wall_clock(), pin);
  }
  LongText text;
  text.add(pin->view(), pin);
  return text;
}

const Job* find_job(const Call& call) {
  const auto id = parse_number<JobId>(call.name);
  return id ? call.site.broker.view().jobs().find(*id) : nullptr;
}

std::optional<std::string> queue_of_job(const Call& call) {
  const View& view = call.site.broker.view();
  const auto id = parse_number<JobId>(call.name);
  const Job* const job = id ? view.jobs().find_unread(*id) : nullptr;
  if (job == nullptr) return std::nullopt;
  return view.queues().at(job->queue).name;
}

}  // namespace

const Owner kJobOwner{.queue_of = queue_of_job, .say_gone = say_gone};

Response say_gone(const Call& call) {
  if (!parse_number<JobId>(call.name)) return refuse(400, "that is not a job number");
  return refuse(404, "there is no such job");
}

Response list_jobs(const Call& call, const ScopedQueues& queues) {
  const Outcome<Search> search = read_search(call.request);
  if (!search) return refuse(400, search.error().text);
  // Shared: see there.
  return go_on_listing(std::make_shared<Listing>(
      Listing{.site = call.site, .limit = search->limit, .walk = JobWalk(call, *search, queues)}));
}

Response count_jobs(const Call& call, const ScopedQueues& queues) {
  const Outcome<Search> search = read_search(call.request);
  if (!search) return refuse(400, search.error().text);
  const View& view = call.site.broker.view();
  Json count;
  // The server has the number: nothing need be walked.
  if (search->filter.is_empty() && !search->wants_breakdown) {
    const std::uint64_t all = queues.count(search->order.state, view);
    count.update({{"matched", all}, {"looked_at", all}, {"to_look_at", all}, {"next", nullptr}});
    return {.body = dump(count)};
  }
  Counting counting{.site = call.site, .walk = JobWalk(call, *search, queues)};
  if (search->wants_breakdown) counting.breakdown.emplace();
  // Shared: see there.
  return go_on_counting(std::make_shared<Counting>(std::move(counting)));
}

Response find_named(const Call& call, const ScopedQueues& queues) {
  if (!is_utf8(call.name)) return refuse(400, "the jid is not UTF-8");
  // Shared: see there.
  return go_on_finding(std::make_shared<Finding>(call, queues), call.moment.now);
}

Response show_job(const Call& call) {
  const Job* job = find_job(call);
  if (job == nullptr) return say_gone(call);
  return {.body = write_detail(*job, call.site, call.moment.now)};
}

Response show_body(const Call& call) {
  const Job* job = find_job(call);
  if (job == nullptr) return say_gone(call);
  if (!job->has_body()) return refuse(410, "the body of this job cannot be read from the journal");
  Response response{.type = "application/octet-stream"};
  if (auto text = long_body(*job, call.site.broker.view(), call.site.format)) {
    response.write_body = [text = *std::move(text)]() mutable {
      std::string body;
      text.take(text.size(), body);
      return body;
    };
  } else if (job->kind == JobKind::kBytes) {
    response.body = job->body_view();
  } else {
    const View& view = call.site.broker.view();
    call.site.format.render_whole(*job, view.queues().at(job->queue).name, view.wall_clock(),
                                  response.body);
  }
  // A download: a body may be a page with scripts, which must not run as ours.
  response.headers["Content-Disposition"] =
      "attachment; filename=\"job-" + std::to_string(job->id) + ".bin\"";
  return response;
}

}  // namespace millrace::http
