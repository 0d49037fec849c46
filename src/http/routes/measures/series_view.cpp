#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/number.hpp"
#include "core/model/failure_group.hpp"
#include "http/kit/input.hpp"
#include "http/kit/json.hpp"
#include "http/routes/handlers.hpp"
#include "http/routes/job_view.hpp"
#include "http/routes/measures/measure_copy.hpp"

/// The recent past of the server, of a queue or of a type.
namespace millrace::http {
namespace {

struct Member {
  const char* name;
  SmallNumber Point::*value;
  bool is_of_types;  ///< types have it too
};

constexpr Member kCounts[] = {{"ready", &Point::ready, false},
                              {"enqueued", &Point::enqueued, false},
                              {"processed", &Point::processed, true},
                              {"failed", &Point::failed, true}};
constexpr Member kTimes[] = {{"wait_p50_s", &Point::wait_p50, false},
                             {"wait_p95_s", &Point::wait_p95, false},
                             {"run_p50_s", &Point::run_p50, true},
                             {"run_p95_s", &Point::run_p95, true}};

/// Null: nobody knows.
Json show_count(SmallNumber number) {
  const auto count = number.value();
  return count ? Json(*count) : Json(nullptr);
}

/// In seconds, or null.
Json show_units(SmallNumber number) {
  const auto units = number.value();
  if (!units) return nullptr;
  return show_length(kTimeUnit * static_cast<std::int64_t>(*units));
}

std::int64_t seconds_in(const Span& span) {
  return std::chrono::duration_cast<std::chrono::seconds>(span.interval).count();
}

/// Which intervals of a span are asked for: from `begin` on, before `end`.
struct Range {
  std::size_t place = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] const Span& span() const { return kSpans[place]; }
  [[nodiscard]] Time ends_at() const { return Time{span().interval * end}; }
};

/// A longer part of an archived span is shown by a span with longer intervals.
constexpr std::int64_t kPointsMax = 1440;

/// How many blocks of the span are kept, or 0.
std::int64_t blocks_of(std::size_t span) {
  const auto* const archived = std::ranges::find(kArchived, span, &Archived::span);
  return archived == kArchived.end() ? 0 : archived->blocks;
}

/// The first interval that is kept.
std::int64_t first_kept(std::size_t span, const Ends& ends, bool has_archive) {
  const std::int64_t blocks = has_archive ? blocks_of(span) : 0;
  return ends[span] -
         static_cast<std::int64_t>(kSpans[span].points) * std::max<std::int64_t>(blocks, 1);
}

/// A whole span, or those intervals of the shortest span that reaches back to `since_ms`.
Outcome<Range> read_range(const Call& call, const Ends& ends) {
  const Request& request = call.request;
  const std::string_view wanted = request.param("span");
  const bool is_part = request.params.contains("since_ms") || request.params.contains("until_ms");
  if (!is_part) {
    const auto* const span =
        wanted.empty() ? kSpans.begin() : std::ranges::find(kSpans, wanted, &Span::name);
    if (span == kSpans.end()) return Problem{"span must be 15m, 1h, 8h, 24h, 7d or 30d"};
    const auto i = static_cast<std::size_t>(span - kSpans.begin());
    return Range{.place = i, .begin = first_kept(i, ends, false), .end = ends[i]};
  }
  const auto since_ms = parse_number<std::uint64_t>(request.param("since_ms"));
  const auto until_ms = parse_number<std::uint64_t>(request.param("until_ms"));
  if (!wanted.empty() || !since_ms || !until_ms || *since_ms >= *until_ms) {
    return Problem{"instead of span, give since_ms and a later until_ms"};
  }
  const WallClock clock = call.site.broker.view().wall_clock();
  const Time since = time_of_ms(*since_ms, clock);
  const Time until = time_of_ms(*until_ms, clock);
  const bool has_archive = bool{call.site.read_block};
  const auto first_of = [&](std::size_t i) { return first_kept(i, ends, has_archive); };
  const auto is_right = [&](std::size_t i) {
    const Duration step = kSpans[i].interval;
    return Time{step * first_of(i)} <= since && (until - since) / step <= kPointsMax;
  };
  std::size_t i = 0;
  while (i + 1 < kSpans.size() && !is_right(i)) ++i;
  const Duration step = kSpans[i].interval;
  const auto end = (until.time_since_epoch() + step - 1ns) / step;
  return Range{.place = i,
               .begin = std::max(first_of(i), since.time_since_epoch() / step),
               .end = std::min<std::int64_t>(ends[i], end)};
}

/// What a chart shows: of a line in one of the lists of a `MeasureCopy`.
struct Past {
  std::string list;
  std::string name;
  Range range;
  bool is_known = false;
  std::vector<Point> points;  ///< up to the end of the range; perhaps not from its beginning on
  Json shown;                 ///< all but the points
};

/// `points` end at `ends`.
void take_part(std::vector<Point> points, std::int64_t ends, Past& past) {
  const auto size = static_cast<std::int64_t>(points.size());
  const auto place = [&](std::int64_t at) {
    return points.begin() + std::clamp<std::int64_t>(at - (ends - size), 0, size);
  };
  const auto from = place(past.range.begin);
  past.points.assign(from, std::max(from, place(past.range.end)));
}

/// Puts what blocks have before the points, which begin at `known`.
void read_blocks(const std::function<std::string(const Block&)>& read, std::int64_t known,
                 Past& past) {
  const std::int64_t end = std::min(known, past.range.end);
  std::vector<Point> before;
  Block block{.span = past.range.place};
  for (block.number = past.range.begin / block.points(); block.begin() < end; ++block.number) {
    std::vector<Point> some = find_points(read(block), past.list, past.name, block);
    // It began later.
    if (some.empty() && before.empty()) continue;
    some.resize(static_cast<std::size_t>(block.points()));
    const auto place = [&](std::int64_t at) {
      return some.begin() + std::clamp<std::int64_t>(at - block.begin(), 0, block.points());
    };
    before.insert(before.end(), place(past.range.begin), place(end));
  }
  past.is_known = past.is_known || !before.empty();
  past.points.insert(past.points.begin(), before.begin(), before.end());
}

Response show_points(Past& past) {
  const Span& span = past.range.span();
  Json& shown = past.shown;
  shown["span"] = span.name;
  shown["interval_s"] = seconds_in(span);
  shown["is_recorded"] = past.is_known;
  const auto add = [&](const Member& member, Json (*show)(SmallNumber)) {
    const bool is_of_failures = past.list == "failures" && member.value == &Point::failed;
    const bool is_shown = past.list == "failures" ? is_of_failures
                          : past.list == "types"  ? member.is_of_types
                                                  : true;
    if (!is_shown) return;
    Json& values = shown[member.name] = Json::array();
    for (const Point& point : past.points) values.push_back(show(point.*member.value));
  };
  for (const Member& member : kCounts) add(member, show_count);
  for (const Member& member : kTimes) add(member, show_units);
  return {.body = dump(shown)};
}

/// `points` end at `ends`, and are in memory. What is older is read outside of the broker's thread.
Response show_past(const Call& call, Past past, std::vector<Point> points, std::int64_t ends) {
  const auto known = ends - static_cast<std::int64_t>(points.size());
  past.shown["ends_at"] = show_time(past.range.ends_at(), call.site.broker.view().wall_clock());
  take_part(std::move(points), ends, past);
  const bool is_all = known <= past.range.begin || blocks_of(past.range.place) == 0;
  if (!call.site.read_block || is_all) return show_points(past);
  // Shared by the two functions, one after the other.
  const auto shared = std::make_shared<Past>(std::move(past));
  return {.go_on = [shared](Time) { return show_points(*shared); },
          .meanwhile = [shared, known,
                        read = call.site.read_block] { read_blocks(read, known, *shared); }};
}

/// The recent past of a group of failures, which is named as `/errors` does.
Response show_failures(const Call& call) {
  const auto group = parse_failure_group(call.request.param("group"));
  if (!group) return refuse(400, "group is not one that /errors names");
  const Ends ends = ends_at(call.moment.now);
  const Outcome<Range> range = read_range(call, ends);
  if (!range) return refuse(400, range.error().text);
  const auto counts = call.site.failures.counts(*group, range->place, ends[range->place]);
  std::vector<Point> points;
  for (const std::uint64_t count : counts.value_or(std::vector<std::uint64_t>())) {
    points.push_back({.failed = SmallNumber(count)});
  }
  const FailureSeries::Name* const known = call.site.failures.name(*group);
  return show_past(
      call,
      {.list = "failures",
       .name = std::to_string(*group),
       .range = *range,
       .is_known = counts.has_value(),
       .shown = {{"type", known == nullptr ? Json(nullptr) : Json(known->type)},
                 {"message", known == nullptr ? Json(nullptr) : Json(known->message)}}},
      std::move(points), ends[range->place]);
}

/// So many points of the shortest span are one number of `show_recent`: half a minute.
constexpr std::size_t kPointsInRecent = 3;

}  // namespace

Json show_recent(const Series& series, std::string_view queue) {
  const Line* const line = series.find_queue(queue);
  if (line == nullptr) return nullptr;
  const std::vector<Point> points = line->points(0, series.ends().front());
  std::vector<std::uint64_t> sums(kSpans.front().points / kPointsInRecent);
  // The last sum is complete: earlier ones may have fewer points.
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::size_t age = points.size() - 1 - i;
    sums[sums.size() - 1 - age / kPointsInRecent] += points[i].processed.value().value_or(0);
  }
  return sums;
}

/// `span`: of the last 15 minutes, hour, 8 hours, day, 7 days or 30 days.
Response show_series(const Call& call, const Scope& scope) {
  const std::string queue(call.request.param("queue"));
  const std::string type(call.request.param("type"));
  const bool is_of_group = !call.request.param("group").empty();
  if (int{!queue.empty()} + int{!type.empty()} + int{is_of_group} > 1) {
    return refuse(400, "name one queue, type or group");
  }
  // Groups and types are of any queues.
  if (queue.empty() && !scope.is_all()) return scope.refuse_for("all queues");
  if (!queue.empty() && !scope.has(queue)) return scope.refuse_for(queue);
  if (is_of_group) return show_failures(call);
  const Series& series = call.site.series;
  const Line* const line = !queue.empty()  ? series.find_queue(queue)
                           : !type.empty() ? series.find_type(type)
                                           : series.server();
  const Outcome<Range> range = read_range(call, series.ends());
  if (!range) return refuse(400, range.error().text);
  const std::int64_t ends = series.ends()[range->place];
  return show_past(
      call,
      {.list = !queue.empty()  ? "queues"
               : !type.empty() ? "types"
                               : "server",
       .name = queue + type,
       .range = *range,
       .is_known = line != nullptr,
       .shown = {{"finished_since", show_kept_since(call.site.broker.view(), call.moment.now)}}},
      line == nullptr ? std::vector<Point>() : line->points(range->place, ends), ends);
}

}  // namespace millrace::http
