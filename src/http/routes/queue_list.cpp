#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "base/number.hpp"
#include "base/text.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "http/routes/handlers.hpp"
#include "http/routes/job_view.hpp"
#include "http/routes/queue_view.hpp"

/// The list of queues, in the order of any of its columns.
namespace millrace::http {
namespace {

/// How many queues one request looks at.
constexpr std::size_t kQueuesAtATime = 10'000;
/// How many of them in a turn of the broker, and how many rows a turn shows: the clients of the
/// job protocols wait meanwhile.
constexpr std::size_t kQueuesATurn = 2'500;
constexpr std::size_t kRowsATurn = 20;

/// A column by which a list of queues can be sorted. `value` is computed for each queue of each
/// page, so it reads as little as possible.
struct SortKey {
  std::string_view name;
  double (*value)(const Queue&, const View& view, Time now);
  bool is_timed = false;  ///< the value changes as time passes
};

double as_number(std::uint64_t count) {
  return static_cast<double>(count);
}

template <auto counter>
double rate_of(const Queue& queue, const View&, Time now) {
  return queue.meter ? ((*queue.meter).*counter).rate.per_second(now) : 0;
}

double wait_of(const Queue& queue, const View& view, Time now) {
  return queue.ready.empty() ? -1 : seconds_of(now - view.jobs().oldest_ready(queue));
}

/// Waiting jobs that no worker takes are worse than runs most of which fail, and both are worse
/// than waiting. Within each, the longest wait is the worst.
double trouble_of(const Queue& queue, const View& view, Time now) {
  constexpr double kLongerThanAnyWait = 1e10;
  const Time oldest = queue.ready.empty() ? now : view.jobs().oldest_ready(queue);
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
    SortKey{"oldest", wait_of, true},
    SortKey{"worst", trouble_of, true},
    SortKey{"enqueued", rate_of<&QueueMeter::enqueued>, true},
    SortKey{"processed", rate_of<&QueueMeter::processed>, true},
    SortKey{"failed", rate_of<&QueueMeter::failed>, true},
};

struct ListRequest {
  const SortKey* key = &kSortKeys.front();
  bool is_descending = false;
  std::string match;
  bool has_recent = false;  ///< with `show_recent` of each
  std::size_t limit = kPageDefault;
  std::uint64_t from = 0;                               ///< in the order of creation
  std::optional<std::pair<double, std::string>> after;  ///< value and name of the last row
  /// When the first answer of the list was made. Waits and rates are as of then in all of them, so
  /// that a queue to which nothing happens keeps its place.
  Time as_of{};

  /// The order of the list. Queues with the same value are ordered by name, so that a cursor names
  /// one place.
  [[nodiscard]] bool is_before(double value, std::string_view name, double other_value,
                               std::string_view other_name) const {
    if (value != other_value) return is_descending ? value > other_value : value < other_value;
    const bool is_by_name = key->name == "name";
    return is_by_name && is_descending ? name > other_name : name < other_name;
  }
};

/// "number@nanoseconds", for a steady time that is not later than now. Without the time it is now.
std::optional<std::pair<std::string_view, Time>> read_moment(std::string_view text, Time now) {
  const std::size_t at = text.find('@');
  if (at == text.npos) return std::pair(text, now);
  const auto elapsed = parse_number<std::uint64_t>(text.substr(at + 1));
  if (!elapsed) return std::nullopt;
  const auto latest = static_cast<std::uint64_t>(now.time_since_epoch().count());
  const Time moment{Duration{static_cast<Duration::rep>(std::min(*elapsed, latest))}};
  return std::pair(text.substr(0, at), moment);
}

/// Empty where it does not matter, so that the same list has the same text later on.
std::string show_moment(const ListRequest& list) {
  if (!list.key->is_timed) return {};
  return concat("@", std::to_string(list.as_of.time_since_epoch().count()));
}

Outcome<ListRequest> read_list(const Request& request, Time now) {
  ListRequest list{.as_of = now};
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
  if (const std::string_view from = request.param("from"); !from.empty()) {
    const auto moment = read_moment(from, now);
    const auto place =
        moment ? parse_number<std::uint64_t>(moment->first) : std::optional<std::uint64_t>();
    if (!place) return Problem{"from is not a place that a list gave"};
    list.from = *place;
    list.as_of = moment->second;
  }
  if (const std::string_view cursor = request.param("cursor"); !cursor.empty()) {
    const std::size_t colon = cursor.find(':');
    const auto moment = read_moment(cursor.substr(0, colon), now);
    const auto value = moment ? parse_number<double>(moment->first) : std::optional<double>();
    // A value that is no number comes neither before nor after another one.
    if (colon == cursor.npos || !value || !std::isfinite(*value)) {
      return Problem{kWrongCursor};
    }
    list.after.emplace(*value, cursor.substr(colon + 1));
    list.as_of = moment->second;
  }
  return list;
}

/// A queue of the list, which may be gone when it is shown.
struct Row {
  double value = 0;
  std::string name;
};

/// The first rows of the list, of all queues that it looks at.
class FirstRows {
  struct Order {
    const ListRequest& list;

    bool operator()(const Row& a, const Row& b) const {
      return list.is_before(a.value, a.name, b.value, b.name);
    }
  };

 public:
  explicit FirstRows(const ListRequest& list) : list_(list) {}

  void look_at(const Queue& queue, const View& view) {
    if (!list_.match.empty() && !contains_ignoring_case(queue.name, list_.match)) return;
    const double value = list_.key->value(queue, view, list_.as_of);
    const auto& after = list_.after;
    if (after && !list_.is_before(after->first, after->second, value, queue.name)) return;
    if (heap_.size() == list_.limit) {
      has_more_ = true;
      const Row& last = heap_.front();
      if (!list_.is_before(value, queue.name, last.value, last.name)) return;
      std::pop_heap(heap_.begin(), heap_.end(), Order{list_});
      heap_.pop_back();
    }
    heap_.push_back({.value = value, .name = queue.name});
    std::push_heap(heap_.begin(), heap_.end(), Order{list_});
  }

  /// To be called when all have been looked at.
  void sort() { std::sort_heap(heap_.begin(), heap_.end(), Order{list_}); }
  [[nodiscard]] const std::vector<Row>& rows() const { return heap_; }
  [[nodiscard]] bool has_more() const { return has_more_; }

 private:
  const ListRequest& list_;
  std::vector<Row> heap_;  ///< the last one first
  bool has_more_ = false;
};

/// The row's place in the order of the list: a cursor for what follows it.
std::string place_of(const Row& row, const ListRequest& list) {
  char value[40];
  // 17 digits give the same double again when they are read.
  std::snprintf(value, sizeof value, "%.17g", row.value);
  return concat(value, show_moment(list), ":", row.name);
}

/// Of all queues, those that are not listed included.
Json total_figures(const Site& site, const ScopedQueues& queues) {
  Json all = show_counts(site.broker.view(), queues);
  const Trend::Rates rates = rates_of(queues, site.trend);
  all["enqueued_per_s"] = rates.enqueued;
  all["processed_per_s"] = rates.processed;
  all["failed_per_s"] = rates.failed;
  return all;
}

/// A list that is being made.
struct QueueListing {
  QueueListing(Site& at, ListRequest wanted, Time begin, ScopedQueues in_scope)
      : site(at),
        queues_seen(std::move(in_scope)),
        list(std::move(wanted)),
        now(begin),
        end(at.broker.view().queues().next_creation()) {}
  QueueListing(const QueueListing&) = delete;
  QueueListing& operator=(const QueueListing&) = delete;

  Site& site;
  const ScopedQueues queues_seen;
  const ListRequest list;
  const Time now;
  const std::uint64_t end;  ///< queues that come from there on are left out
  std::uint64_t next = list.from;
  std::size_t looked_at = 0;
  FirstRows first{list};
  std::size_t shown = 0;  ///< of its rows
  Json queues = Json::array();
};

/// True: all rows are known.
bool look_at_some_queues(QueueListing& listing) {
  if (listing.next >= listing.end || listing.looked_at >= kQueuesAtATime) return true;
  const View& view = listing.site.broker.view();
  listing.next =
      view.queues().page(listing.next, listing.end, kQueuesATurn, [&](const Queue& queue) {
        if (listing.queues_seen.has(queue)) listing.first.look_at(queue, view);
      });
  listing.looked_at += kQueuesATurn;
  return false;
}

void show_some_queues(QueueListing& listing) {
  const View& view = listing.site.broker.view();
  const std::vector<Row>& rows = listing.first.rows();
  const std::size_t end = std::min(rows.size(), listing.shown + kRowsATurn);
  for (; listing.shown < end; ++listing.shown) {
    const Row& row = rows[listing.shown];
    const Queue* queue = view.queues().find(row.name);
    // One that is made anew has the same name, so it is for the same people.
    if (queue == nullptr) continue;
    Json shown = show_figures(figures_of(*queue, view, listing.now), view.wall_clock());
    shown["place"] = place_of(row, listing.list);
    if (listing.list.has_recent) shown["recent"] = show_recent(listing.site.series, row.name);
    listing.queues.push_back(std::move(shown));
  }
}

Response queue_page(QueueListing& listing) {
  const std::vector<Row>& rows = listing.first.rows();
  const bool has_more = listing.first.has_more() && !rows.empty();
  const ListRequest& list = listing.list;
  const bool is_whole = listing.next >= listing.end;
  Json page{{"queues", std::move(listing.queues)},
            {"total", listing.queues_seen.size(listing.site.broker.view())},
            {"totals", total_figures(listing.site, listing.queues_seen)},
            {"next", has_more ? Json(place_of(rows.back(), list)) : Json(nullptr)},
            {"from", is_whole ? Json(nullptr)
                              : Json(concat(std::to_string(listing.next), show_moment(list)))}};
  return {.write_body = [page = std::move(page)] { return dump(page); }};
}

// Shared by the copies of a function: it can only have what can be copied.
Response go_on_listing_queues(const std::shared_ptr<QueueListing>& listing) {
  Response later{.go_on = [listing](Time) { return go_on_listing_queues(listing); }};
  if (!look_at_some_queues(*listing)) return later;
  if (listing->shown == 0) listing->first.sort();
  show_some_queues(*listing);
  return listing->shown < listing->first.rows().size() ? later : queue_page(*listing);
}

}  // namespace

Response list_queues(const Call& call, const ScopedQueues& queues) {
  Outcome<ListRequest> list = read_list(call.request, call.moment.now);
  if (!list) return refuse(400, list.error().text);
  // Sorted within this slice only. The client merges slices by their places.
  const Time now = call.moment.now;
  // Shared: see above.
  auto listing = std::make_shared<QueueListing>(call.site, *std::move(list), now, queues);
  return go_on_listing_queues(listing);
}

}  // namespace millrace::http
