#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "core/broker/view.hpp"
#include "core/state/throttle/throttle.hpp"
#include "http/kit/json.hpp"
#include "http/kit/metrics_page.hpp"
#include "http/kit/text.hpp"
#include "http/routes/alerts.hpp"
#include "http/routes/features/throttle_view.hpp"
#include "http/routes/handlers.hpp"
#include "http/routes/queue_view.hpp"

namespace millrace::http {
namespace {

/// What is shown of the limits of a queue or a type, copied from the broker.
struct ThrottleFigures {
  std::string label;  ///< as `metrics_label` writes it: of the queue, or of the type
  ThrottleLimits limits;
  std::optional<std::uint64_t> taken;    ///< nullopt: only a rate limits the type
  std::optional<std::uint64_t> waiting;  ///< nullopt: no client waits for a type
  std::uint64_t held = 0;
  std::uint64_t overage = 0;
  std::uint64_t reclaimed = 0;
};

/// The types that have limits, by name; at most `kLabelledTypesMax`.
constexpr std::size_t kLabelledTypesMax = 1000;

ThrottleFigures figures_of_throttle(const Throttle& throttle) {
  return {.label = throttle.name,
          .limits = throttle.limits,
          .taken = std::nullopt,
          .waiting = std::nullopt,
          .held = throttle.held,
          .overage = throttle.overage,
          .reclaimed = throttle.reclaimed};
}

/// `queue` has a throttle. The label is written on another thread: here it is the name alone.
ThrottleFigures figures_of_throttled(const Queue& queue) {
  ThrottleFigures figures = figures_of_throttle(*queue.throttle);
  figures.taken = running_count(*queue.throttle, &queue);
  figures.waiting = queue.waiting.size();
  return figures;
}

std::vector<ThrottleFigures> figures_of_throttled_types(const View& view) {
  std::vector<ThrottleFigures> all;
  view.throttles().table().page(kTypePrefix, kLabelledTypesMax, [&](const Throttle& throttle) {
    // Queues with later names follow.
    if (!throttle.is_type || !throttle.limits.has_any()) return;
    ThrottleFigures figures = figures_of_throttle(throttle);
    figures.label = throttle.jobtype();
    if (throttle.limits.has_slots()) figures.taken = throttle.taken();
    all.push_back(std::move(figures));
  });
  return all;
}

/// What has no limits has no samples.
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

/// So many of the busiest queues have labels. The jobs of the others are added up under an empty
/// name, which no queue has.
constexpr std::size_t kLabelledQueuesMax = 1000;

struct Labelled {
  std::string label;  ///< the name; for the page `queue="mail"`
  QueueFigures figures;
  std::optional<QueueMeter> meter;  ///< nullopt: nothing was measured
};

struct Queues {
  std::vector<Labelled> labelled;
  std::vector<ThrottleFigures> throttles;  ///< of labelled ones, with their names as labels
  QueueFigures others;
  std::size_t others_count = 0;
};

/// The runs of a jobtype.
struct LabelledType {
  std::string label;  ///< `type="SendMail"`; an empty type: all runs of no measured type
  TypeMeter meter;
};

/// Those that had runs. At most `TypeMeters::kTypesMax` and one.
std::vector<LabelledType> copy_types(const TypeMeters& types) {
  std::vector<LabelledType> copies;
  copies.reserve(types.size() + 1);
  types.each([&](std::string_view type, const TypeMeter& meter) {
    copies.push_back({.label = std::string(type), .meter = meter});
  });
  if (types.others().processed.total > 0) copies.push_back({.label = {}, .meter = types.others()});
  return copies;
}

/// A metric with one sample.
struct Single {
  const char* name;
  const char* kind;
  const char* help;
  double value;
};

using Singles = std::vector<Single>;

template <typename Number>
Single gauge(const char* name, const char* help, Number value) {
  return {name, "gauge", help, static_cast<double>(value)};
}

template <typename Number>
Single counter(const char* name, const char* help, Number value) {
  return {name, "counter", help, static_cast<double>(value)};
}

/// The numbers of the page, copied from the broker. Writing them as text takes longer than clients
/// should wait for the broker's thread, so another thread does it.
struct Snapshot {
  Time now;
  Queues queues;
  std::vector<LabelledType> types;
  std::vector<ThrottleFigures> throttled_types;
  Singles totals;
  Singles features;
  std::size_t open_batches = 0;
  std::size_t committed_batches = 0;
  std::size_t finished_batches = 0;
  Singles process;
  std::string version;
  TrafficFacts traffic;
  Singles journal;  ///< none with --volatile, where there is no disk to speak of
};

Labelled copy_of(const Queue& queue, const View& view, Time now) {
  Labelled copy{.label = queue.name, .figures = figures_of(queue, view, now), .meter = {}};
  if (queue.meter) copy.meter = *queue.meter;
  // The page is written on another thread, when the queue may be gone.
  copy.figures.queue = nullptr;
  return copy;
}

Queues collect(const View& view, const BusiestQueues& busiest, Time now) {
  Queues queues;
  QueueFigures& others = queues.others;
  // All, less those of the labelled queues: so no other queue is visited.
  others.ready = view.orders().count(JobState::kReady);
  others.reserved = view.orders().count(JobState::kReserved);
  others.scheduled = view.orders().count(JobState::kScheduled);
  others.retrying = view.orders().count(JobState::kRetrying);
  others.dead = view.orders().count(JobState::kDead);
  const auto label = [&](const Queue& queue) {
    const Labelled& each = queues.labelled.emplace_back(copy_of(queue, view, now));
    if (queue.throttle != nullptr) queues.throttles.push_back(figures_of_throttled(queue));
    others.ready -= each.figures.ready;
    others.reserved -= each.figures.reserved;
    others.scheduled -= each.figures.scheduled;
    others.retrying -= each.figures.retrying;
    others.dead -= each.figures.dead;
  };
  // A queue that was removed meanwhile is left out.
  for (const std::uint64_t place : busiest.places()) view.queues().page(place, place + 1, 1, label);
  queues.others_count = view.queues().by_creation().size() - queues.labelled.size();
  return queues;
}

void jobs_of(const std::string& label, const QueueFigures& figures, MetricsPage& page) {
  const auto line = [&](const char* state, std::uint64_t count) {
    page.sample("millrace_jobs", concat(label, ",state=\"", state, "\""), concat(count));
  };
  line("ready", figures.ready);
  line("reserved", figures.reserved);
  line("scheduled", figures.scheduled);
  line("retrying", figures.retrying);
  line("dead", figures.dead);
}

void show_queues(const Queues& queues, Time now, MetricsPage& page) {
  page.head("millrace_jobs", "gauge", "Jobs by queue and state.");
  for (const Labelled& each : queues.labelled) jobs_of(each.label, each.figures, page);
  // Under a name of its own, so that the sum over all samples is the number of jobs.
  if (queues.others_count > 0) jobs_of("queue=\"\"", queues.others, page);
  page.single("millrace_queues_without_label", "gauge",
              "Queues beyond the thousand busiest, whose jobs are counted under an empty name.",
              static_cast<double>(queues.others_count));
  page.head("millrace_oldest_ready_seconds", "gauge", "Age of the oldest ready job; 0: none.");
  for (const Labelled& each : queues.labelled) {
    // 0 and no gap: an alert for old jobs must see that there are none any more.
    const bool is_empty = each.figures.oldest == kNever;
    page.sample("millrace_oldest_ready_seconds", each.label,
                number(is_empty ? 0 : seconds_of(now - each.figures.oldest)));
  }
  page.head("millrace_queue_paused", "gauge", "1 while the queue hands out nothing.");
  for (const Labelled& each : queues.labelled) {
    page.sample("millrace_queue_paused", each.label, each.figures.is_paused ? "1" : "0");
  }
}

/// The times that `find` has of each; null: none.
template <typename Each, typename Find>
void show_times(const char* name, const char* help, const std::vector<Each>& all, Find find,
                MetricsPage& page) {
  page.head(name, "histogram", help);
  for (const Each& each : all) {
    if (const Histogram* times = find(each)) page.histogram(name, each.label, *times);
  }
}

template <typename Each, typename Find>
void show_quantiles(const char* name, const std::vector<Each>& all, Find find, MetricsPage& page) {
  page.head(name, "gauge", "What this part of these times does not exceed.");
  for (const Each& each : all) {
    if (const Histogram* times = find(each)) page.quantiles(name, each.label, *times);
  }
}

/// A histogram is 31 lines. Queues that measured nothing would make up most of the page.
auto times_in(Histogram QueueMeter::*times) {
  return [times](const Labelled& each) -> const Histogram* {
    return each.meter && ((*each.meter).*times).count() > 0 ? &((*each.meter).*times) : nullptr;
  };
}

void show_meters(const Queues& queues, MetricsPage& page) {
  struct Row {
    const char* name;
    const char* help;
    Counter QueueMeter::*counter;
  };
  constexpr Row kRows[] = {
      {"millrace_queue_enqueued_total", "Jobs put or pushed.", &QueueMeter::enqueued},
      {"millrace_queue_processed_total", "Runs that ended.", &QueueMeter::processed},
      {"millrace_queue_failed_total", "Runs that failed.", &QueueMeter::failed}};
  for (const Row& row : kRows) {
    page.head(row.name, "counter", row.help);
    for (const Labelled& each : queues.labelled) {
      const auto& meter = each.meter;
      page.sample(row.name, each.label, concat(meter ? ((*meter).*(row.counter)).total : 0));
    }
  }
  page.head("millrace_queue_expired_total", "counter", "Jobs that expired before a run began.");
  for (const Labelled& each : queues.labelled) {
    page.sample("millrace_queue_expired_total", each.label, concat(each.figures.expired));
  }
  const auto waits = times_in(&QueueMeter::wait);
  const auto runs = times_in(&QueueMeter::run);
  show_times("millrace_wait_seconds", "From entering the queue to the reservation.",
             queues.labelled, waits, page);
  show_quantiles("millrace_wait_quantile_seconds", queues.labelled, waits, page);
  show_times("millrace_run_seconds", "From the reservation to the end of the run.", queues.labelled,
             runs, page);
  show_quantiles("millrace_run_quantile_seconds", queues.labelled, runs, page);
}

void show_types(const std::vector<LabelledType>& types, MetricsPage& page) {
  page.head("millrace_type_processed_total", "counter", "Runs that ended, by type.");
  for (const LabelledType& each : types) {
    page.sample("millrace_type_processed_total", each.label, concat(each.meter.processed.total));
  }
  page.head("millrace_type_failed_total", "counter", "Runs that failed, by type.");
  for (const LabelledType& each : types) {
    page.sample("millrace_type_failed_total", each.label, concat(each.meter.failed.total));
  }
  const auto runs = [](const LabelledType& each) { return &each.meter.run; };
  show_times("millrace_type_run_seconds", "From the reservation to the end of the run, by type.",
             types, runs, page);
  show_quantiles("millrace_type_run_quantile_seconds", types, runs, page);
}

Singles totals_of(const Site& site) {
  const View& view = site.broker.view();
  const Tally& tally = view.tally();
  return {
      counter("millrace_processed_total", "Runs that ended, failed ones included.",
              view.counters().processed),
      counter("millrace_failed_total", "Runs that failed.", view.counters().failed),
      counter("millrace_enqueued_total", "Jobs put or pushed since the start.", tally.jobs_put),
      counter("millrace_pushes_repeated_total", "Pushes that were sent again, and added no job.",
              tally.pushes_repeated),
      gauge("millrace_pushes_remembered", "Pushes whose jobs have ended, and that are still known.",
            view.ended_pushes().size()),
      gauge("millrace_accepts_jobs", "0 while new jobs are refused for lack of disk or memory.",
            site.broker.refuses_jobs() ? 0 : 1),
      gauge("millrace_queues", "Queues.", view.queues().by_creation().size()),
      gauge("millrace_workers", "Worker processes of Faktory clients.", view.workers().size()),
      gauge("millrace_clients_waiting", "Connections that wait for a job.", tally.waiting),
      gauge("millrace_cron_entries", "Cron entries that the log knows.", view.cron().count()),
      counter("millrace_cron_enqueued_total", "Runs of cron entries that pushed a job.",
              tally.cron_enqueued),
      counter("millrace_cron_refused_total", "Runs of cron entries whose job was refused.",
              tally.cron_refused)};
}

/// What jobs with features have at present.
Singles features_of(const View& view) {
  const Tally& tally = view.tally();
  const std::size_t unreadable = view.jobs().unreadable_count();
  return {
      gauge("millrace_locks", "Locks that unique jobs hold.", view.jobs().lock_count()),
      counter("millrace_locks_taken_total", "Unique jobs pushed.", tally.locks_taken),
      counter("millrace_locks_denied_total", "Pushes whose lock another job held.",
              tally.locks_denied),
      counter("millrace_locks_without_time_total",
              "Jobs pushed with unique_until and without unique_for, which are not unique.",
              tally.locks_without_time),
      counter("millrace_jobs_expired_total", "Jobs that expired before a run began.",
              tally.jobs_expired),
      counter("millrace_jobs_lost_total",
              "Jobs that returned or died because their worker was lost.", tally.jobs_lost),
      counter("millrace_bodies_unreadable_total",
              "Jobs whose body could not be read from the journal.", tally.bodies_unreadable),
      gauge("millrace_unreadable_jobs", "Jobs that cannot run since their body could not be read.",
            unreadable),
      gauge("millrace_jobs_set_aside", "Of these, jobs that run once their body can be read again.",
            std::min<std::uint64_t>(tally.jobs_set_aside, unreadable)),
      gauge("millrace_tracked_jobs", "Jobs that are tracked.", view.jobs().tracked_count()),
      gauge("millrace_tracks", "Jobs of which a progress or an end is remembered.",
            view.tracks().size()),
      counter("millrace_batches_added_total", "Batches made.", tally.batches_added),
      counter("millrace_batches_dropped_total", "Batches removed that were never committed.",
              tally.batches_dropped),
      counter("millrace_batch_callbacks_total", "Callbacks of batches that were pushed.",
              tally.batch_callbacks)};
}

Singles process_of(const Site& site, const Moment& moment, const TrafficFacts& traffic) {
  const JobMemory& memory = site.broker.ledger().memory();
  return {gauge("millrace_uptime_seconds", "Since the start.",
                seconds_of(moment.now - site.facts.started_at)),
          counter("millrace_statsd_left_out_total", "Runs that statsd was not told of.",
                  traffic.statsd_left_out),
          counter("millrace_alerts_sent_total", "Messages of alerts that were delivered.",
                  site.alerts.sent()),
          counter("millrace_alerts_failed_total",
                  "Messages of alerts that were given up after all tries.", site.alerts.failed()),
          counter("millrace_log_lines_lost_total", "Lines of the log that could not be written.",
                  traffic.log_lines_lost),
          counter("millrace_audit_lines_lost_total",
                  "Changes that could not be written to the file of --audit-log.",
                  traffic.audit_lines_lost),
          counter("millrace_clock_steps_total", "How often the wall clock was set.",
                  traffic.clock_steps),
          gauge("millrace_clock_ahead_seconds",
                "The wall clock less the time that timeouts are counted in.",
                seconds_of(site.broker.view().wall_clock().ahead)),
          gauge("process_resident_memory_bytes", "Resident memory.", moment.system.memory_bytes),
          gauge("millrace_jobs_memory_bytes",
                "What jobs and queues take in memory, bodies included, about.", memory.bytes()),
          gauge("millrace_memory_limit_bytes", "What they may take, 0: no limit.",
                memory.bytes_max() == SIZE_MAX ? 0 : memory.bytes_max())};
}

Singles journal_of(const Ledger& ledger, const SystemFacts& system, const TrafficFacts& traffic) {
  if (!system.has_journal) return {};
  const std::uint64_t live = ledger.live_bytes();
  // At most 1: live bytes count the batch at hand, which is not in a segment yet.
  const double written = static_cast<double>(std::max<std::uint64_t>(traffic.log_bytes, live));
  return {gauge("millrace_journal_bytes", "Size of the journal's segments.", system.journal_bytes),
          gauge("millrace_journal_segments", "Segments of the journal.", system.journal_segments),
          gauge("millrace_journal_live_bytes",
                "What a journal without anything obsolete would take, about.", live),
          gauge("millrace_journal_live_share",
                "Of what has been written to the segments, how much is still needed.",
                traffic.log_bytes == 0 ? 0.0 : static_cast<double>(live) / written),
          counter("millrace_journal_segments_removed_total",
                  "Segments cleaned away since the start.", traffic.segments_removed),
          counter("millrace_journal_jobs_rewritten_total", "Jobs written once more for that.",
                  ledger.store().jobs().rewritten_count()),
          gauge("millrace_journal_waiting_bytes", "Appended and not durable yet.",
                traffic.undurable_bytes),
          gauge("millrace_disk_free_bytes", "Free where the journal is.", system.disk_free_bytes)};
}

void show(const Singles& all, MetricsPage& page) {
  for (const Single& each : all) page.single(each.name, each.kind, each.help, each.value);
}

void show_batches(const Snapshot& all, MetricsPage& page) {
  page.head("millrace_batches", "gauge", "Batches by state.");
  page.sample("millrace_batches", "state=\"open\"", concat(all.open_batches));
  page.sample("millrace_batches", "state=\"committed\"", concat(all.committed_batches));
  page.sample("millrace_batches", "state=\"finished\"", concat(all.finished_batches));
}

void show_io(const std::vector<TrafficFacts::Io>& threads, MetricsPage& page) {
  struct Row {
    const char* name;
    const char* kind;
    const char* help;
    std::string (*value)(const TrafficFacts::Io&);
  };
  static constexpr Row kRows[] = {
      {"millrace_io_connections", "gauge", "Open connections by the thread of their sockets.",
       [](const TrafficFacts::Io& io) { return concat(io.connections); }},
      {"millrace_io_rounds_total", "counter", "How often the thread looked at its sockets.",
       [](const TrafficFacts::Io& io) { return concat(io.rounds); }},
      {"millrace_io_received_bytes_total", "counter", "Bytes of commands, decrypted.",
       [](const TrafficFacts::Io& io) { return concat(io.received_bytes); }},
      {"millrace_io_sent_bytes_total", "counter", "Bytes of replies, before encryption.",
       [](const TrafficFacts::Io& io) { return concat(io.sent_bytes); }},
      {"millrace_io_processor_seconds_total", "counter",
       "Processor time of the thread; 0 for the main thread.",
       [](const TrafficFacts::Io& io) { return number(seconds_of(io.processor_time)); }}};
  for (const Row& row : kRows) {
    page.head(row.name, row.kind, row.help);
    for (const TrafficFacts::Io& io : threads) {
      page.sample(row.name, concat("thread=\"", io.thread, "\""), row.value(io));
    }
  }
}

void show_process(const Snapshot& all, MetricsPage& page) {
  const TrafficFacts& traffic = all.traffic;
  page.head("millrace_connections", "gauge", "Open connections.");
  page.sample("millrace_connections", "protocol=\"beanstalk\"",
              concat(traffic.beanstalk_connections));
  page.sample("millrace_connections", "protocol=\"faktory\"", concat(traffic.faktory_connections));
  show_io(traffic.io, page);
  show(all.process, page);
  // Its value is always 1: the label says the version.
  page.head("millrace_info", "gauge", "The version.");
  page.sample("millrace_info", concat("version=\"", all.version, "\""), "1");
  if (all.journal.empty()) return;
  show(all.journal, page);
  page.head("millrace_commit_seconds", "histogram",
            "From a write's append to the journal until it is as safe as --sync promises.");
  page.histogram("millrace_commit_seconds", "", traffic.commits);
}

std::string write(Snapshot all) {
  MetricsPage page;
  // Once for all samples of each.
  const auto label = [](const char* kind, auto& list) {
    for (auto& each : list) each.label = metrics_label(kind, each.label);
  };
  label("queue", all.queues.labelled);
  label("queue", all.queues.throttles);
  label("type", all.types);
  label("type", all.throttled_types);
  std::vector<ThrottleFigures> throttles = std::move(all.queues.throttles);
  std::move(all.throttled_types.begin(), all.throttled_types.end(), std::back_inserter(throttles));
  show(all.totals, page);
  show_queues(all.queues, all.now, page);
  show_meters(all.queues, page);
  show_types(all.types, page);
  show_throttles(throttles, page);
  show(all.features, page);
  show_batches(all, page);
  show_process(all, page);
  write_leadership(all.traffic.leadership, "serving", page);
  return page.take();
}

/// How far a request for the metrics has got, between two turns.
struct Survey {
  QueueWalk walk;
  BusiestQueues busiest{kLabelledQueuesMax};
};

Snapshot take_snapshot(const Site& site, const Moment& moment, const BusiestQueues& busiest) {
  const View& view = site.broker.view();
  const JobBatches& batches = view.batches();
  const std::size_t ended = batches.open_count() + batches.finished_count();
  TrafficFacts traffic = site.traffic();
  return {.now = moment.now,
          .queues = collect(view, busiest, moment.now),
          .types = copy_types(site.broker.types()),
          .throttled_types = figures_of_throttled_types(view),
          .totals = totals_of(site),
          .features = features_of(view),
          .open_batches = batches.open_count(),
          .committed_batches = batches.size() - ended,
          .finished_batches = batches.finished_count(),
          .process = process_of(site, moment, traffic),
          .version = site.facts.version,
          .traffic = traffic,
          .journal = journal_of(site.broker.ledger(), moment.system, traffic)};
}

Response survey_on(const Site& site, const Moment& moment, Survey survey) {
  const auto look = [&](const Queue& queue) { survey.busiest.look_at(queue, moment.now); };
  const bool is_through = survey.walk.visit_some(site.broker.view(), look);
  Response response{.type = "text/plain; version=0.0.4; charset=utf-8"};
  if (is_through) {
    response.write_body = [all = take_snapshot(site, moment, survey.busiest)] {
      return write(all);
    };
  } else {
    response.go_on = [&site, system = moment.system, survey = std::move(survey)](Time now) mutable {
      return survey_on(site, {.now = now, .system = system}, std::move(survey));
    };
  }
  return response;
}

}  // namespace

Response show_metrics(const Call& call) {
  return survey_on(call.site, call.moment, Survey{});
}

}  // namespace millrace::http
