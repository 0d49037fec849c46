#include <algorithm>
#include <string>
#include <vector>

#include "core/model/failure_group.hpp"
#include "http/kit/json.hpp"
#include "http/routes/handlers.hpp"
#include "http/routes/job_view.hpp"

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

Json show_count(SmallNumber number) {
  return number.value().value_or(0);
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

Json show_line(const Line* line, const Span& span, std::size_t place, std::int64_t ends,
               bool is_type) {
  const std::vector<Point> points =
      line == nullptr ? std::vector<Point>() : line->points(place, ends);
  Json shown{
      {"span", span.name}, {"interval_s", seconds_in(span)}, {"is_recorded", line != nullptr}};
  const auto add = [&](const Member& member, Json (*show)(SmallNumber)) {
    if (is_type && !member.is_of_types) return;
    Json& values = shown[member.name] = Json::array();
    for (const Point& point : points) values.push_back(show(point.*member.value));
  };
  for (const Member& member : kCounts) add(member, show_count);
  for (const Member& member : kTimes) add(member, show_units);
  return shown;
}

/// So many points of the shortest span are one number of `show_recent`: half a minute.
constexpr std::size_t kPointsInRecent = 3;

/// The recent past of a group of failures, which is named as `/errors` does.
Response show_failures(const Call& call, const Span& span, std::size_t place) {
  const auto group = parse_failure_group(call.request.param("group"));
  if (!group) return refuse(400, "group is not one that /errors names");
  const std::int64_t ends = ends_at(call.moment.now)[place];
  const auto counts = call.site.failures.counts(*group, place, ends);
  const FailureSeries::Name* const known = call.site.failures.name(*group);
  return {.body = dump({{"span", span.name},
                        {"interval_s", seconds_in(span)},
                        {"is_recorded", counts.has_value()},
                        {"type", known == nullptr ? Json(nullptr) : Json(known->type)},
                        {"message", known == nullptr ? Json(nullptr) : Json(known->message)},
                        {"failed", counts.value_or(std::vector<std::uint64_t>())},
                        {"ends_at", show_time(Time{span.interval * ends},
                                              call.site.broker.view().wall_clock())}})};
}

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

/// `span`: of the last 15 minutes, hour, day, 7 days or 30 days.
Response show_series(const Call& call) {
  const std::string_view wanted = call.request.param("span");
  const auto* const span =
      wanted.empty() ? kSpans.begin()
                     : std::find_if(kSpans.begin(), kSpans.end(),
                                    [&](const Span& each) { return each.name == wanted; });
  if (span == kSpans.end()) return refuse(400, "span must be 15m, 1h, 24h, 7d or 30d");
  const std::string_view queue = call.request.param("queue");
  const std::string_view type = call.request.param("type");
  const bool is_of_group = !call.request.param("group").empty();
  if (int{!queue.empty()} + int{!type.empty()} + int{is_of_group} > 1) {
    return refuse(400, "name one queue, type or group");
  }
  const auto place = static_cast<std::size_t>(span - kSpans.begin());
  if (is_of_group) return show_failures(call, *span, place);
  const Series& series = call.site.series;
  const Line* const line = !queue.empty()  ? series.find_queue(queue)
                           : !type.empty() ? series.find_type(type)
                                           : series.server();
  const std::int64_t ends = series.ends()[place];
  Json shown = show_line(line, *span, place, ends, !type.empty());
  const Time end{span->interval * ends};
  const View& view = call.site.broker.view();
  shown["ends_at"] = show_time(end, view.wall_clock());
  shown["finished_since"] = show_kept_since(view, call.moment.now);
  return {.body = dump(shown)};
}

}  // namespace millrace::http
