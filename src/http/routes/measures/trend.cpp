#include "http/routes/measures/trend.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "http/kit/json.hpp"

namespace millrace::http {

void Trend::note(const View& view, Time now) {
  // Called often: samples are taken once an interval.
  if (now < next_) return;
  next_ = now + kInterval;
  const CountersChanged& counters = view.counters();
  // FLUSH sets the totals to zero. Older samples cannot be compared with what follows.
  if (!samples_.empty() && counters.processed < samples_.back().processed) samples_.clear();
  samples_.push_back({.at = now,
                      .processed = counters.processed,
                      .failed = counters.failed,
                      .enqueued = enqueued_before_ + view.tally().jobs_put,
                      .ready = view.orders().count(JobState::kReady),
                      .reserved = view.orders().count(JobState::kReserved),
                      .scheduled = view.orders().count(JobState::kScheduled),
                      .retrying = view.orders().count(JobState::kRetrying),
                      .dead = view.orders().count(JobState::kDead)});
  if (samples_.size() > kSamplesMax) samples_.pop_front();
}

Json Trend::save() const {
  Json saved = Json::array();
  for (const Sample& each : samples_) {
    saved.push_back({each.at.time_since_epoch().count(), each.processed, each.failed, each.enqueued,
                     each.ready, each.reserved, each.scheduled, each.retrying, each.dead});
  }
  return saved;
}

Trend Trend::load(const Json& saved, Time now) {
  Trend trend;
  for (const Json& each : saved) {
    const Time at{Duration{each.at(0).get<Time::rep>()}};
    if (at <= now - kInterval * kSamplesMax || at > now) continue;
    trend.samples_.push_back({.at = at,
                              .processed = each.at(1),
                              .failed = each.at(2),
                              .enqueued = each.at(3),
                              .ready = each.at(4),
                              .reserved = each.at(5),
                              .scheduled = each.at(6),
                              .retrying = each.at(7),
                              .dead = each.at(8)});
  }
  if (!trend.samples_.empty()) trend.enqueued_before_ = trend.samples_.back().enqueued;
  return trend;
}

const Trend::Sample& Trend::sample_before(Duration age) const {
  CHECK(!samples_.empty());
  const Time wanted = samples_.back().at - age;
  const auto found =
      std::lower_bound(samples_.begin(), samples_.end(), wanted,
                       [](const Sample& sample, Time time) { return sample.at < time; });
  return *found;
}

Trend::Rates Trend::rates(Duration span) const {
  return rates_between(span, Duration{});
}

Trend::Rates Trend::rates_between(Duration from, Duration to) const {
  if (samples_.empty()) return {};
  // Over the time that the samples really cover, which is less just after the start.
  const Sample& first = sample_before(from);
  const Sample& last = sample_before(to);
  const double seconds = seconds_of(last.at - first.at);
  if (seconds <= 0) return {};
  const auto rate = [&](std::uint64_t before, std::uint64_t after) {
    return show_rate(static_cast<double>(after - before) / seconds);
  };
  return {.processed = rate(first.processed, last.processed),
          .failed = rate(first.failed, last.failed),
          .enqueued = rate(first.enqueued, last.enqueued)};
}

}  // namespace millrace::http
