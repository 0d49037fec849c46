#include "server/statsd/statsd.hpp"

#include <algorithm>
#include <chrono>
#include <string>

namespace millrace::server {
namespace {

double seconds_since(Time oldest, Time now) {
  return oldest == kNever ? 0 : std::chrono::duration<double>(now - oldest).count();
}

StatsdGauges::OfQueue figures_of(const Queue& queue, const View& view, Time now) {
  return {.name = queue.name,
          .size = queue.ready.size(),
          .latency_s = seconds_since(view.oldest_ready(queue), now)};
}

}  // namespace

void Statsd::set(std::optional<StatsdOptions> options) {
  if (options == options_) return;
  const bool was_serving = is_serving_;
  stop();
  options_ = std::move(options);
  if (was_serving) begin();
}

void Statsd::begin() {
  is_serving_ = true;
  if (!options_) return;
  told_ = counts();
  sender_ = std::make_unique<StatsdSender>(*options_, told_);
  parts_.broker.watch_runs(this);
  next_gauges_ = {};
  parts_.ticker.plan(*this, kAtOnce);
}

void Statsd::stop() {
  is_serving_ = false;
  parts_.broker.watch_runs(nullptr);
  parts_.ticker.plan(*this, kNever);
  sender_.reset();
  runs_ = {};
  survey_.reset();
}

void Statsd::expire(Time now) {
  problem_.tell(parts_.log, sender_->problem(), now);
  if (now >= next_gauges_ && !survey_)
    survey_.emplace(Survey{{}, http::BusiestQueues(kStatsdQueuesMax)});
  StatsdReport report{.runs = std::exchange(runs_, {}), .counts = counts()};
  if (survey_ && survey_on(now)) {
    report.gauges = gauges(now);
    survey_.reset();
    next_gauges_ = now + kStatsdGaugesInterval;
  }
  const bool is_news = report.gauges || !report.runs.is_empty() || report.counts != told_;
  told_ = report.counts;
  if (is_news) sender_->hand_over(std::move(report));
  parts_.ticker.plan(*this, now + kStatsdInterval);
}

void Statsd::on_run_ended(const Job& job, const Queue& queue, Duration took) {
  // Reading the body back would wait for the disk.
  runs_.add(took, queue.name, job.is_spilled() ? std::string() : parts_.format.type_of(job).name);
}

bool Statsd::survey_on(Time now) {
  return survey_->walk.visit_some(
      parts_.broker.view(), [&](const Queue& queue) { survey_->busiest.look_at(queue, now); });
}

StatsdCounts Statsd::counts() const {
  const View& view = parts_.broker.view();
  const Tally& tally = view.tally();
  return {.processed = view.counters().processed,
          .failed = view.counters().failed,
          .expired = tally.jobs_expired,
          .locks_taken = tally.locks_taken,
          .locks_denied = tally.locks_denied,
          .cron_enqueued = tally.cron_enqueued,
          .cron_refused = tally.cron_refused,
          .batch_callbacks = tally.batch_callbacks};
}

StatsdGauges Statsd::gauges(Time now) const {
  const View& view = parts_.broker.view();
  StatsdGauges gauges;
  gauges.values = {{"processed", view.counters().processed},
                   {"failures", view.counters().failed},
                   {"enqueued", view.job_count(JobState::kReady)},
                   {"working", view.job_count(JobState::kReserved)},
                   {"scheduled", view.job_count(JobState::kScheduled)},
                   {"retries", view.job_count(JobState::kRetrying)},
                   {"dead", view.job_count(JobState::kDead)},
                   {"connections", parts_.connections()},
                   {"workers", view.workers().size()},
                   {"uniq.locks", view.lock_count()},
                   {"batch.open", view.batches().size() - view.batches().finished_count()}};
  const auto add = [&](const Queue& queue) {
    gauges.queues.push_back(figures_of(queue, view, now));
  };
  // A queue that was removed meanwhile is left out.
  for (const std::uint64_t place : survey_->busiest.places()) {
    view.page_queues(place, place + 1, 1, add);
  }
  for (const std::string& name : options_->latency_queues) {
    const Queue* const queue = view.find_queue(name);
    gauges.latencies.push_back(queue != nullptr ? figures_of(*queue, view, now)
                                                : StatsdGauges::OfQueue{.name = name});
  }
  return gauges;
}

}  // namespace millrace::server
