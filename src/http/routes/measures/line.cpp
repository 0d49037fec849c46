#include "http/routes/measures/line.hpp"

#include <functional>
#include <utility>

namespace millrace::http {
namespace {

SmallNumber quantile(const Histogram& times, double part) {
  const std::optional<Duration> length = times.quantile(part);
  return length ? SmallNumber(static_cast<std::uint64_t>(*length / kTimeUnit)) : SmallNumber();
}

/// One that has become smaller began anew, as those of runs do with a FLUSH.
std::uint64_t growth(std::uint64_t from, std::uint64_t to) {
  return to < from ? to : to - from;
}

/// A part of what came between two readings; the numbers are those of the part.
Point point_between(const Reading& before, const Reading& now,
                    const std::function<std::uint64_t(std::uint64_t count)>& part) {
  const Histogram wait = now.wait.since(before.wait);
  const Histogram run = now.run.since(before.run);
  const auto came = [&part](std::uint64_t from, std::uint64_t to) {
    return SmallNumber(part(growth(from, to)));
  };
  return {.ready = SmallNumber(now.ready),
          .enqueued = came(before.enqueued, now.enqueued),
          .processed = came(before.processed, now.processed),
          .failed = came(before.failed, now.failed),
          .wait_p50 = quantile(wait, 0.5),
          .wait_p95 = quantile(wait, 0.95),
          .run_p50 = quantile(run, 0.5),
          .run_p95 = quantile(run, 0.95)};
}

Point nothing() {
  return {.ready = SmallNumber(0),
          .enqueued = SmallNumber(0),
          .processed = SmallNumber(0),
          .failed = SmallNumber(0)};
}

/// The first interval that has not ended before the last one of the shortest span has begun.
std::int64_t first_open(const Ends& ends, std::size_t span) {
  const bool has_ended_now =
      ends[span] * kSpans[span].interval == ends.front() * kSpans.front().interval;
  return has_ended_now ? ends[span] - 1 : ends[span];
}

Point& at(std::vector<Point>& points, std::int64_t interval) {
  return points[static_cast<std::size_t>(interval) % points.size()];
}

}  // namespace

Ends ends_at(Time now) {
  Ends ends{};
  for (std::size_t i = 0; i < kSpans.size(); ++i) {
    ends[i] = now.time_since_epoch() / kSpans[i].interval;
  }
  return ends;
}

Reading reading_of(const Queue& queue) {
  Reading reading{.ready = queue.ready.size()};
  if (!queue.meter) return reading;
  const QueueMeter& meter = *queue.meter;
  reading.enqueued = meter.enqueued.total;
  reading.processed = meter.processed.total;
  reading.failed = meter.failed.total;
  reading.wait = meter.wait;
  reading.run = meter.run;
  return reading;
}

Reading reading_of(const TypeMeter& meter) {
  return {.processed = meter.processed.total, .failed = meter.failed.total, .run = meter.run};
}

void add_times(const Reading& before, const Reading& now, Reading& sum) {
  sum.wait.add(now.wait.since(before.wait));
  sum.run.add(now.run.since(before.run));
}

Line::Line(const Reading& first, const Ends& ends, bool is_old) {
  for (std::size_t i = 0; i < kSpans.size(); ++i) {
    Ring& ring = rings_[i];
    ring.points.resize(kSpans[i].points);
    ring.begin = ring.end = is_old ? ends[i] : first_open(ends, i);
    if (is_old) ring.before = first;
  }
  note(first, ends);
}

bool Line::note(const Reading& reading, const Ends& ends) {
  bool is_active = reading.ready > 0;
  for (std::size_t i = 0; i < kSpans.size(); ++i) {
    if (ends[i] > rings_[i].end && note_in(rings_[i], reading, ends[i])) is_active = true;
  }
  return is_active;
}

bool Line::note_in(Ring& ring, const Reading& reading, std::int64_t end) {
  const auto count = static_cast<std::int64_t>(ring.points.size());
  const auto parts = static_cast<std::uint64_t>(end - ring.end);
  const std::int64_t last = end - 1;
  if (parts > 1) {
    const Point each =
        point_between(ring.before, reading, [&](std::uint64_t all) { return all / parts; });
    for (std::int64_t i = std::max(ring.end, end - count); i < last; ++i) at(ring.points, i) = each;
  }
  at(ring.points, last) = point_between(
      ring.before, reading, [&](std::uint64_t all) { return all / parts + all % parts; });
  const std::int64_t open = ring.end;
  const Carried carried = std::exchange(ring.carried, {});
  if (open >= end - count) add(carried, at(ring.points, open));
  const bool has_come =
      reading.enqueued != ring.before.enqueued || reading.processed != ring.before.processed;
  ring.before = reading;
  ring.end = end;
  ring.begin = std::max(ring.begin, end - count);
  return has_come;
}

void Line::add(const Carried& carried, Point& point) {
  SmallNumber* const numbers[] = {&point.enqueued, &point.processed, &point.failed};
  for (std::size_t i = 0; i < carried.size(); ++i) {
    *numbers[i] = SmallNumber(numbers[i]->value().value_or(0) + carried[i]);
  }
}

void Line::restart(const Ends& ends, Reading first) {
  first.ready = 0;
  for (std::size_t i = 0; i < kSpans.size(); ++i) {
    Ring& ring = rings_[i];
    const std::int64_t open = first_open(ends, i);
    // Lengths are differences, and there is none to what other meters had.
    ring.before = first;
    if (open <= ring.end) continue;
    const auto count = static_cast<std::int64_t>(ring.points.size());
    const std::int64_t gap = std::max(ring.end, open - count);
    note_in(ring, first, open);
    // What waited meanwhile is not known.
    for (std::int64_t each = gap; each < open; ++each) at(ring.points, each).ready = SmallNumber();
  }
}

void Line::leave_gap(const Ends& ends) {
  for (std::size_t i = 0; i < kSpans.size(); ++i) {
    Ring& ring = rings_[i];
    const std::int64_t open = first_open(ends, i);
    const auto count = static_cast<std::int64_t>(ring.points.size());
    for (std::int64_t each = std::max(ring.end, open - count); each < open; ++each) {
      Point& point = at(ring.points, each) = {};
      if (each == ring.end && ring.carried != Carried{}) add(ring.carried, point);
    }
    if (open <= ring.end) continue;
    ring.carried = {};
    ring.end = open;
    ring.begin = std::max(ring.begin, open - count);
  }
}

std::string Line::save() const {
  std::string bytes;
  for (const Ring& ring : rings_) {
    const auto [enqueued, processed, failed] = ring.carried;
    append_bytes(std::array{ring.begin, ring.end}, bytes);
    append_bytes(std::array{enqueued + growth(ring.before.enqueued, last().enqueued),
                            processed + growth(ring.before.processed, last().processed),
                            failed + growth(ring.before.failed, last().failed)},
                 bytes);
    append_bytes(ring.points, bytes);
  }
  return bytes;
}

std::optional<Line> Line::load(std::string_view saved, Time now) {
  const Ends ends = ends_at(now);
  Line line;
  for (std::size_t i = 0; i < kSpans.size(); ++i) {
    Ring& ring = line.rings_[i];
    ring.points.resize(kSpans[i].points);
    std::array<std::int64_t, 2> bounds{};
    const bool is_whole = take_bytes(saved, bounds) && take_bytes(saved, ring.carried) &&
                          take_bytes(saved, ring.points);
    if (!is_whole) return std::nullopt;
    ring.begin = bounds[0];
    ring.end = bounds[1];
    const bool is_past = 0 <= ring.begin && ring.begin <= ring.end && ring.end <= ends[i];
    if (!is_past) return std::nullopt;
  }
  return saved.empty() ? std::optional(std::move(line)) : std::nullopt;
}

std::vector<Point> Line::points(std::size_t span, std::int64_t ends) const {
  const Ring& ring = rings_[span];
  std::vector<Point> points;
  const auto count = static_cast<std::int64_t>(ring.points.size());
  for (std::int64_t i = std::max(ring.begin, ends - count); i < ends; ++i) {
    const bool is_known = i < ring.end;
    points.push_back(is_known ? ring.points[static_cast<std::size_t>(i % count)] : nothing());
    if (i == ring.end) add(ring.carried, points.back());
  }
  return points;
}

std::vector<Point> Line::points_in(const Block& block) const {
  const Ring& ring = rings_[block.span];
  const std::int64_t known = std::max(ring.begin, ring.end - block.points()) - block.begin();
  const std::int64_t end = std::min(ring.end - block.begin(), block.points());
  std::vector<Point> points(ring.points.size());
  bool is_active = false;
  for (std::int64_t i = std::max<std::int64_t>(known, 0); i < end; ++i) {
    const Point& point = points[static_cast<std::size_t>(i)] =
        ring.points[static_cast<std::size_t>(i)];
    for (const SmallNumber each : {point.ready, point.enqueued, point.processed}) {
      is_active = is_active || each.value().value_or(0) > 0;
    }
  }
  return is_active ? points : std::vector<Point>();
}

}  // namespace millrace::http
