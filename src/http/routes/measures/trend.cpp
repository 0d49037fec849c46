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
                      .enqueued = view.tally().jobs_put,
                      .ready = view.orders().count(JobState::kReady),
                      .reserved = view.orders().count(JobState::kReserved),
                      .scheduled = view.orders().count(JobState::kScheduled),
                      .retrying = view.orders().count(JobState::kRetrying),
                      .dead = view.orders().count(JobState::kDead)});
  if (samples_.size() > kSamplesMax) samples_.pop_front();
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
