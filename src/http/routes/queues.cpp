
#include <algorithm>
#include <array>

#include "base/number.hpp"
#include "base/text.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "http/routes/features/throttle_view.hpp"
#include "http/routes/handlers.hpp"
#include "http/routes/job_view.hpp"
#include "http/routes/measures/series_view.hpp"
#include "http/routes/operation_view.hpp"
#include "http/routes/queue_view.hpp"

/// Queues, which the beanstalk protocol calls tubes.
namespace millrace::http {
namespace {

/// How many queues one request looks at.
constexpr std::size_t kQueuesAtATime = 10'000;

/// A column by which a list of queues can be sorted. `value` is computed for each queue of each
/// page, so it reads as little as possible.
struct SortKey {
  std::string_view name;
  double (*value)(const Queue&, const View& view, Time now);
};

double as_number(std::uint64_t count) {
  return static_cast<double>(count);
}

template <auto counter>
double rate_of(const Queue& queue, const View&, Time now) {
  return queue.meter ? ((*queue.meter).*counter).rate.per_second(now) : 0;
}

double wait_of(const Queue& queue, const View& view, Time now) {
  return queue.ready.empty() ? -1 : seconds_of(now - view.oldest_ready(queue));
}

/// Waiting jobs that no worker takes are worse than runs most of which fail, and both are worse
/// than waiting. Within each, the longest wait is the worst.
double trouble_of(const Queue& queue, const View& view, Time now) {
  constexpr double kLongerThanAnyWait = 1e10;
  const Time oldest = queue.ready.empty() ? now : view.oldest_ready(queue);
  const double wait = queue.ready.empty() ? -1 : seconds_of(now - oldest);
  if (is_abandoned(queue, oldest, now)) return 2 * kLongerThanAnyWait + wait;
  const double failed_per_s = rate_of<&QueueMeter::failed>(queue, view, now);
  const double processed_per_s = rate_of<&QueueMeter::processed>(queue, view, now);
  return 2 * failed_per_s > processed_per_s ? kLongerThanAnyWait + wait : wait;
}

constexpr std::array kSortKeys = {
    SortKey{"name", [](const Queue&, const View&, Time) { return 0.0; }},
    SortKey{"ready", [](const Queue& q, const View&, Time) { return as_number(q.ready.size()); }},
    SortKey{"reserved",
            [](const Queue& q, const View&, Time) { return as_number(q.reserved_count); }},
    SortKey{"scheduled",
            [](const Queue& q, const View&, Time) { return as_number(q.scheduled_count()); }},
    SortKey{"retrying",
            [](const Queue& q, const View&, Time) { return as_number(q.retrying_count); }},
    SortKey{"dead", [](const Queue& q, const View&, Time) { return as_number(q.dead.size()); }},
    SortKey{"oldest", wait_of},
    SortKey{"worst", trouble_of},
    SortKey{"enqueued", rate_of<&QueueMeter::enqueued>},
    SortKey{"processed", rate_of<&QueueMeter::processed>},
    SortKey{"failed", rate_of<&QueueMeter::failed>},
};

struct Row {
  const Queue* queue = nullptr;
  double value = 0;
};

struct ListRequest {
  const SortKey* key = &kSortKeys.front();
  bool is_descending = false;
  std::string match;
  bool has_recent = false;  ///< with `show_recent` of each
  std::size_t limit = kPageDefault;
  std::uint64_t from = 0;                               ///< in the order of creation
  std::optional<std::pair<double, std::string>> after;  ///< value and name of the last row

  /// The order of the list. Queues with the same value are ordered by name, so that a cursor names
  /// one place.
  [[nodiscard]] bool is_before(double value, std::string_view name, double other_value,
                               std::string_view other_name) const {
    if (value != other_value) return is_descending ? value > other_value : value < other_value;
    const bool is_by_name = key->name == "name";
    return is_by_name && is_descending ? name > other_name : name < other_name;
  }
};

Outcome<ListRequest> read_list(const Request& request) {
  ListRequest list;
  const std::string_view sort = request.param("sort");
  const auto* key = std::find_if(kSortKeys.begin(), kSortKeys.end(),
                                 [&](const SortKey& each) { return each.name == sort; });
  if (!sort.empty() && key == kSortKeys.end()) return Problem{"queues cannot be sorted by that"};
  if (!sort.empty()) list.key = key;
  const std::string_view order = request.param("order");
  if (!order.empty() && order != "asc" && order != "desc") {
    return Problem{"order is not asc or desc"};
  }
  list.is_descending = order == "desc";
  list.match = request.param("match");
  const std::string_view recent = request.param("recent");
  if (!recent.empty() && recent != "1") return Problem{"recent is not 1"};
  list.has_recent = recent == "1";
  const Outcome<std::size_t> limit = read_limit(request);
  if (!limit) return limit.error();
  list.limit = *limit;
  const std::string_view from = request.param("from");
  const auto place =
      from.empty() ? std::optional<std::uint64_t>(0) : parse_number<std::uint64_t>(from);
  if (!place) return Problem{"from is not a place that a list gave"};
  list.from = *place;
  const std::string_view cursor = request.param("cursor");
  if (cursor.empty()) return list;
  const std::size_t colon = cursor.find(':');
  const auto value = parse_number<double>(cursor.substr(0, colon));
  if (colon == cursor.npos || !value) {
    return Problem{"cursor is not one that a list gave"};
  }
  list.after.emplace(*value, cursor.substr(colon + 1));
  return list;
}

struct Slice {
  std::vector<Row> rows;
  std::uint64_t next = 0;  ///< where the following slice begins
};

Slice collect(const ListRequest& list, const View& view, Time now) {
  Slice slice;
  const auto look_at = [&](const Queue& queue) {
    if (!list.match.empty() && !contains_ignoring_case(queue.name, list.match)) return;
    const Row row{.queue = &queue, .value = list.key->value(queue, view, now)};
    const bool is_seen =
        list.after && !list.is_before(list.after->first, list.after->second, row.value, queue.name);
    if (!is_seen) slice.rows.push_back(row);
  };
  slice.next = view.page_queues(list.from, view.queues_end(), kQueuesAtATime, look_at);
  return slice;
}

/// The row's place in the order of the list: a cursor for what follows it.
std::string place_of(const Row& row) {
  char value[40];
  // 17 digits give the same double again when they are read.
  std::snprintf(value, sizeof value, "%.17g", row.value);
  return concat(value, ":", row.queue->name);
}

/// Of all queues, those that are not listed included.
Json total_figures(const Site& site) {
  constexpr Duration kSpan = 30s;
  Json all = show_counts(site.broker.view());
  const Trend::Rates rates = site.trend.rates(kSpan);
  all["enqueued_per_s"] = rates.enqueued;
  all["processed_per_s"] = rates.processed;
  all["failed_per_s"] = rates.failed;
  return all;
}

const Queue* find_queue(const Call& call) {
  return call.site.broker.view().find_queue(call.name);
}

Response say_gone() {
  return refuse(404, "there is no such queue");
}

Response pause(const Call& call, std::optional<std::uint32_t> seconds) {
  const auto paused = call.site.broker.admin().pause(call.name, seconds, call.moment.now);
  if (!paused && paused.error() == Refusal::kNoRoom) return refuse_for_room();
  if (!paused) return say_gone();
  return {.body = dump({{"name", call.name}, {"is_paused", seconds != 0u}}), .is_change = true};
}

Response sweep(const Call& call, BulkChanges::Request request) {
  if (find_queue(call) == nullptr) return say_gone();
  const Outcome<BulkChanges::Bounds> bounds = read_bounds(call.request.members);
  if (!bounds) return refuse(400, bounds.error().text);
  request.bounds = *bounds;
  return begin_operation(call, std::move(request));
}

}  // namespace

Response list_queues(const Call& call) {
  const Outcome<ListRequest> list = read_list(call.request);
  if (!list) return refuse(400, list.error().text);
  const View& view = call.site.broker.view();
  Slice slice = collect(*list, view, call.moment.now);
  std::vector<Row>& rows = slice.rows;
  // Sorted within this slice only. The client merges slices by their places.
  const std::size_t count = std::min(rows.size(), list->limit);
  std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count), rows.end(),
                    [&](const Row& a, const Row& b) {
                      return list->is_before(a.value, a.queue->name, b.value, b.queue->name);
                    });
  Json queues = Json::array();
  for (std::size_t i = 0; i < count; ++i) {
    queues.push_back(
        show_figures(figures_of(*rows[i].queue, view, call.moment.now), view.wall_clock()));
    queues.back()["place"] = place_of(rows[i]);
    if (!list->has_recent) continue;
    queues.back()["recent"] = show_recent(call.site.series, rows[i].queue->name);
  }
  const bool is_through = slice.next >= view.queues_end();
  return {.body =
              dump({{"queues", std::move(queues)},
                    {"total", view.queue_count()},
                    {"totals", total_figures(call.site)},
                    {"next", count < rows.size() ? Json(place_of(rows[count - 1])) : Json(nullptr)},
                    {"from", is_through ? Json(nullptr) : Json(slice.next)}})};
}

namespace {

/// How long half and 95 % of its jobs waited and ran at most, since the start of the process.
void show_times(const QueueMeter* meter, Json& shown) {
  const auto show = [&](const char* name, Histogram QueueMeter::*times, double part) {
    shown[name] = meter == nullptr ? Json(nullptr) : show_length((meter->*times).quantile(part));
  };
  show("wait_p50_s", &QueueMeter::wait, 0.5);
  show("wait_p95_s", &QueueMeter::wait, 0.95);
  show("run_p50_s", &QueueMeter::run, 0.5);
  show("run_p95_s", &QueueMeter::run, 0.95);
}

}  // namespace

Response show_queue(const Call& call) {
  const Queue* queue = find_queue(call);
  if (queue == nullptr) return say_gone();
  const View& view = call.site.broker.view();
  Json shown = show_figures(figures_of(*queue, view, call.moment.now), view.wall_clock());
  shown["users"] = queue->user_count;
  shown["watchers"] = queue->watcher_count;
  shown["waiting"] = queue->waiting.size();
  show_times(queue->meter.get(), shown);
  shown["workers"] = show_servers(*queue, view, call.moment.now);
  shown["is_kept"] = queue->is_kept;
  shown["throttle"] = queue->throttle == nullptr
                          ? Json(nullptr)
                          : show_throttle(*queue->throttle, view, call.moment.now);
  return {.body = dump(shown)};
}

Response pause_queue(const Call& call) {
  const Json& members = call.request.members;
  const auto seconds = members.find("seconds");
  if (seconds == members.end() || seconds->is_null()) return pause(call, std::nullopt);
  if (!seconds->is_number_unsigned() || *seconds < 1 || *seconds > UINT32_MAX) {
    return refuse(400, "seconds is not a number from 1 to 4294967295");
  }
  return pause(call, seconds->get<std::uint32_t>());
}

Response resume_queue(const Call& call) {
  return pause(call, 0);
}

Response clear_queue(const Call& call) {
  return sweep(call, {.states = {JobState::kReady},
                      .queue = call.name,
                      .action = Mutation::Action::kDiscard,
                      .title = concat("clear ", call.name)});
}

Response delete_queue(const Call& call) {
  return sweep(call, {.states = {JobState::kReady, JobState::kScheduled, JobState::kRetrying,
                                 JobState::kDead},
                      .queue = call.name,
                      .action = Mutation::Action::kDiscard,
                      .forgets_queue = true,
                      .title = concat("delete queue ", call.name)});
}

}  // namespace millrace::http
