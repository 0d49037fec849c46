#include "http/routes/measures/throttle_metrics.hpp"

#include "http/kit/text.hpp"
#include "http/routes/features/throttle_view.hpp"

namespace millrace::http {
namespace {

ThrottleFigures figures_of_throttle(const Throttle& throttle) {
  return {.label = throttle.name,
          .limits = throttle.limits,
          .taken = std::nullopt,
          .waiting = std::nullopt,
          .held = throttle.held,
          .overage = throttle.overage,
          .reclaimed = throttle.reclaimed};
}

}  // namespace

ThrottleFigures figures_of_throttled(const Queue& queue) {
  ThrottleFigures figures = figures_of_throttle(*queue.throttle);
  figures.taken = running_count(*queue.throttle, &queue);
  figures.waiting = queue.waiting.size();
  return figures;
}

std::vector<ThrottleFigures> figures_of_throttled_types(const View& view) {
  std::vector<ThrottleFigures> all;
  view.page_throttles(kTypePrefix, kLabelledTypesMax, [&](const Throttle& throttle) {
    // Queues with later names follow.
    if (!throttle.is_type || !throttle.limits.has_any()) return;
    ThrottleFigures figures = figures_of_throttle(throttle);
    figures.label = throttle.jobtype();
    if (throttle.limits.has_slots()) figures.taken = throttle.taken();
    all.push_back(std::move(figures));
  });
  return all;
}

void show_throttles(const std::vector<ThrottleFigures>& throttles, MetricsPage& page) {
  page.head("millrace_throttle_limit", "gauge",
            "Limits of the queue or the type; of a rate, jobs a second. Only those that it has.");
  for (const ThrottleFigures& each : throttles) {
    const ThrottleLimits& limits = each.limits;
    const auto line = [&](const char* kind, double value) {
      if (value == 0) return;
      page.sample("millrace_throttle_limit", concat(each.label, ",kind=\"", kind, "\""),
                  number(value));
    };
    line("concurrency", limits.concurrency);
    line("worker", limits.worker);
    line("per_key", limits.per_key);
    line("rate", limits.has_rate() ? 1.0 * limits.rate_count / limits.rate_s : 0);
  }
  const auto metric = [&](const char* name, const char* kind, const char* help, auto value) {
    page.head(name, kind, help);
    for (const ThrottleFigures& each : throttles) {
      const std::optional<std::uint64_t> number = each.*value;
      if (number) page.sample(name, each.label, concat(*number));
    }
  };
  using Figures = ThrottleFigures;
  metric("millrace_throttle_taken", "gauge", "Running jobs that count against the limits.",
         &Figures::taken);
  metric("millrace_throttle_waiting", "gauge", "Clients that wait for a job of the queue.",
         &Figures::waiting);
  metric("millrace_throttle_held_total", "counter", "Jobs that were handed out.", &Figures::held);
  metric("millrace_throttle_overage_total", "counter", "Jobs that ran for longer than the timeout.",
         &Figures::overage);
  metric("millrace_throttle_reclaimed_total", "counter",
         "Slots of jobs that were taken back from lost workers.", &Figures::reclaimed);
}

}  // namespace millrace::http
