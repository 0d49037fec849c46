#include <absl/container/flat_hash_set.h>

#include "base/number.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "http/routes/attention.hpp"
#include "http/routes/handlers.hpp"
#include "http/routes/job_view.hpp"

/// The first page, its charts, and the page about the server itself.
namespace millrace::http {
namespace {

/// The worst concern, which is the first, and how many more there are.
std::string concern_sentence(const Situation& situation) {
  const std::size_t others = situation.concerns.size() + situation.left_out - 1;
  return concat(sentence_of(situation.concerns.front()),
                others == 0 ? "."
                            : concat(", and ", grouped(others),
                                     others == 1 ? " more issue." : " more issues."));
}

std::string health_sentence(const Site& site, const Situation& situation,
                            const ScopedQueues& in_scope) {
  if (!situation.concerns.empty()) return concern_sentence(situation);
  const View& view = site.broker.view();
  const std::uint64_t ready = in_scope.count(JobState::kReady, view);
  const std::uint64_t reserved = in_scope.count(JobState::kReserved, view);
  if (view.counters().next_id <= 1) {
    return "All is well: ready for the first job.";
  }
  const std::string queues = count_of(in_scope.size(view), "queue");
  if (ready + reserved == 0) return concat("All is well: ", queues, ", no jobs waiting.");
  return concat("All is well: ", queues, ", ", count_of(reserved, "job"), " running, ",
                grouped(ready), " waiting.");
}

Json show_health_of(const Site& site, const Situation& situation, const ScopedQueues& in_scope) {
  const char* level = situation.troubles > 0       ? "trouble"
                      : situation.concerns.empty() ? "good"
                                                   : "notice";
  return {{"level", level}, {"text", health_sentence(site, situation, in_scope)}};
}

Json show_concerns(const Situation& situation) {
  Json all = Json::array();
  for (const Concern& concern : situation.concerns) {
    all.push_back({{"level", concern.level == Concern::Level::kTrouble ? "trouble" : "notice"},
                   {"kind", concern.kind},
                   {"text", concern.text},
                   {"queue", concern.queue.empty() ? Json(nullptr) : Json(concern.queue)},
                   {"wid", text_or_null(concern.wid)},
                   {"worker", text_or_null(concern.worker)},
                   {"error", text_or_null(concern.error)}});
  }
  return all;
}

/// `2026-11-21`
std::string name_of_day(std::int32_t day) {
  constexpr std::size_t kDateBytes = 10;
  // Noon, since the first moment of 1970 counts as no time.
  return show_time(Time{std::chrono::days(day) + 12h}, {}).get<std::string>().substr(0, kDateBytes);
}

Json show_day(std::int32_t day, std::uint64_t processed, std::uint64_t failed) {
  return {{"day", name_of_day(day)}, {"processed", processed}, {"failed", failed}};
}

/// Those that hold a job; null: too many jobs are reserved to look at all of them.
Json count_busy_workers(const View& view) {
  constexpr std::size_t kLookedAtMax = 1'000;
  absl::flat_hash_set<std::string_view> busy;
  const ScanEnd end =
      view.jobs().scan({.state = JobState::kReserved}, {}, kLookedAtMax, [&](const Job& job) {
        const std::string& wid = job.reservation()->wid;
        if (view.workers().contains(wid)) busy.insert(wid);
        return true;
      });
  return end.next ? Json(nullptr) : Json(busy.size());
}

/// What the server counts: of a part of the queues since its start, and not by day.
void show_runs(const View& view, const QueueSums* sums, Json& shown) {
  const CountersChanged& counters = view.counters();
  if (sums == nullptr) {
    shown["totals"] = {{"processed", counters.processed},
                       {"failed", counters.failed},
                       {"enqueued", view.tally().jobs_put}};
    shown["today"] = {{"processed", counters.processed_today}, {"failed", counters.failed_today}};
  } else {
    shown["totals"] = {
        {"processed", sums->processed}, {"failed", sums->failed}, {"enqueued", sums->enqueued}};
    shown["today"] = nullptr;
  }
}

/// Null: who may not see all queues is not told of all clients.
void show_clients(const Site& site, bool is_all, Json& shown) {
  const View& view = site.broker.view();
  const TrafficFacts traffic = site.traffic();
  shown["workers"] = is_all ? Json(view.workers().size()) : Json(nullptr);
  shown["busy_workers"] = is_all ? count_busy_workers(view) : Json(nullptr);
  shown["connections"] = is_all ? Json{{"beanstalk", traffic.beanstalk_connections},
                                       {"faktory", traffic.faktory_connections}}
                                : Json(nullptr);
}

std::string write_overview(const Site& site, const Situation& situation,
                           const ScopedQueues& in_scope) {
  const View& view = site.broker.view();
  const Trend::Rates rates = rates_of(in_scope, site.trend);
  Json shown;
  shown["health"] = show_health_of(site, situation, in_scope);
  shown["jobs"] = show_counts(view, in_scope);
  show_runs(view, in_scope.sums(), shown);
  shown["per_s"] = {
      {"processed", rates.processed}, {"failed", rates.failed}, {"enqueued", rates.enqueued}};
  shown["queues"] = in_scope.size(view);
  show_clients(site, in_scope.is_all(), shown);
  shown["oldest_ready"] = situation.oldest == kNever
                              ? Json(nullptr)
                              : Json{{"queue", situation.oldest_queue},
                                     {"since", show_time(situation.oldest, view.wall_clock())}};
  shown["attention"] = show_concerns(situation);
  shown["attention_left_out"] = situation.left_out;
  shown["is_read_only"] = site.facts.is_read_only;
  shown["version"] = site.facts.version;
  return dump(shown);
}

Response inspect_on(const Site& site, const Moment& moment, Inspection inspection,
                    ScopedQueues in_scope) {
  if (inspection.look_at_queues(site, moment.now)) {
    return {.body = write_overview(site, inspection.conclude(site, moment), in_scope)};
  }
  Response part;
  part.go_on = [&site, system = moment.system, inspection = std::move(inspection),
                in_scope = std::move(in_scope)](Time now) mutable {
    return inspect_on(site, {.now = now, .system = system}, std::move(inspection),
                      std::move(in_scope));
  };
  return part;
}

/// How far a request for INFO has got, between two turns.
struct InfoListing {
  QueueWalk walk;
  QueueSizes sizes;
};

Response list_on(const Site& site, Time now, InfoListing listing) {
  listing.sizes.reserve(site.broker.view().queues().by_creation().size());
  const bool is_through = listing.walk.visit_some(site.broker.view(), [&](const Queue& queue) {
    // Tubes that are neither kept nor have ready jobs are no queues for Faktory clients.
    if (queue.listed_at) listing.sizes.emplace_back(queue.name, queue.ready.size());
  });
  Response response;
  if (is_through) {
    response.write_body = site.info(now, std::move(listing.sizes));
  } else {
    response.go_on = [&site, listing = std::move(listing)](Time later) mutable {
      return list_on(site, later, std::move(listing));
    };
  }
  return response;
}

}  // namespace

Response show_overview(const Call& call, const ScopedQueues& queues) {
  return inspect_on(call.site, call.moment, Inspection(queues), queues);
}

/// `since`: milliseconds since 1970; only later samples are shown.
Response show_trend(const Call& call) {
  const std::string_view since = call.request.param("since");
  const auto since_ms =
      since.empty() ? std::optional<std::int64_t>(0) : parse_number<std::int64_t>(since);
  if (!since_ms) return refuse(400, "since is not a number of milliseconds");
  Json samples = Json::array();
  for (const Trend::Sample& sample : call.site.trend.samples()) {
    const Time wall = call.site.broker.view().wall_clock().shown(sample.at);
    const auto at = std::chrono::floor<std::chrono::milliseconds>(wall.time_since_epoch());
    if (at.count() <= *since_ms) continue;
    samples.push_back({at.count(), sample.processed, sample.failed, sample.enqueued, sample.ready,
                       sample.reserved, sample.scheduled, sample.retrying, sample.dead});
  }
  return {.body = dump({{"members",
                         {"at_ms", "processed", "failed", "enqueued", "ready", "reserved",
                          "scheduled", "retrying", "dead"}},
                        {"samples", std::move(samples)}})};
}

Response show_history(const Call& call) {
  const std::string_view text = call.request.param("days");
  const auto days = text.empty() ? std::optional<std::size_t>(30) : parse_number<std::size_t>(text);
  if (!days || *days < 1 || *days > kHistoryDaysMax) {
    return refuse(400, concat("days is not a number from 1 to ", kHistoryDaysMax));
  }
  const View& view = call.site.broker.view();
  const CountersChanged& counters = view.counters();
  const auto today =
      static_cast<std::int32_t>(std::chrono::floor<std::chrono::days>(
                                    view.wall_clock().shown(call.moment.now).time_since_epoch())
                                    .count());
  const auto first = today - static_cast<std::int32_t>(*days) + 1;
  // The present day need not be in the history yet. It may be an older one, if nothing ran since.
  const std::vector<DayCounts> all =
      merged(view.history(), {counters.day, counters.processed_today, counters.failed_today});
  Json shown = Json::array();
  for (const DayCounts& day : all) {
    if (day.day >= first) shown.push_back(show_day(day.day, day.processed, day.failed));
  }
  return {.body = dump({{"today", name_of_day(today)}, {"days", std::move(shown)}})};
}

Response show_server(const Call& call) {
  const ServerFacts& facts = call.site.facts;
  const SystemFacts& system = call.moment.system;
  const TrafficFacts traffic = call.site.traffic();
  const Broker& broker = call.site.broker;
  const std::uint64_t limit = broker.ledger().memory().bytes_max();
  const bool is_limited = limit != SIZE_MAX;
  Json options = Json::array();
  for (const auto& [name, value] : facts.options) {
    options.push_back({{"name", name}, {"value", value}});
  }
  Json io_threads = Json::array();
  for (const TrafficFacts::Io& io : traffic.io) {
    io_threads.push_back({{"thread", io.thread},
                          {"connections", io.connections},
                          {"received_bytes", io.received_bytes},
                          {"sent_bytes", io.sent_bytes},
                          {"processor_seconds", seconds_of(io.processor_time)}});
  }
  Json journal = nullptr;
  if (system.has_journal) {
    journal = {{"bytes", system.journal_bytes},
               {"segments", system.journal_segments},
               {"waiting_bytes", traffic.undurable_bytes},
               {"commits", traffic.commits.count()},
               {"commit_seconds", seconds_of(traffic.commits.sum())},
               {"disk_free_bytes", system.disk_free_bytes},
               {"disk_total_bytes", system.disk_total_bytes}};
  }
  return {.body = dump({{"version", facts.version},
                        {"hostname", facts.hostname},
                        {"pid", facts.pid},
                        {"started_at", show_time(facts.started_at, broker.view().wall_clock())},
                        {"memory_bytes", system.memory_bytes},
                        {"memory_total_bytes", system.memory_total_bytes},
                        {"job_memory_bytes", broker.ledger().memory().bytes()},
                        {"job_memory_bytes_max", is_limited ? Json(limit) : Json(nullptr)},
                        {"connections",
                         {{"beanstalk", traffic.beanstalk_connections},
                          {"faktory", traffic.faktory_connections}}},
                        {"io_threads", std::move(io_threads)},
                        {"journal", std::move(journal)},
                        {"is_read_only", facts.is_read_only},
                        {"options", std::move(options)}})};
}

Response show_stats(const Call& call) {
  return list_on(call.site, call.moment.now, InfoListing{});
}

/// 503 while the server stops, or while the disk stores nothing and so no client is answered. 200
/// also without room for new jobs: all other commands are served, and they make room.
Response show_health(const Call& call) {
  const TrafficFacts traffic = call.site.traffic();
  if (traffic.is_stopping || traffic.is_stalled) {
    const char* const status = traffic.is_stopping ? "stopping" : "stalled";
    return {.status = 503, .body = dump({{"status", status}})};
  }
  // The members that FWP's INFO has, by the same code.
  const Json info = Json::parse(call.site.info(call.moment.now, {})(), nullptr, false);
  const Json& server = info["server"];
  Json shown = show_leadership(traffic.leadership, "serving");
  shown.update({{"status", "serving"},
                {"accepts_jobs", traffic.leadership.may_answer && !call.site.broker.refuses_jobs()},
                {"now", info["now"]},
                {"server",
                 {{"description", server["description"]},
                  {"faktory_version", server["faktory_version"]},
                  {"connections", server["connections"]},
                  {"command_count", server["command_count"]}}}});
  return {.body = dump(shown)};
}

/// For what chooses the server to send clients to: 200 where they are answered.
Response show_health_of_leader(const Call& call) {
  const LeadershipFacts facts = call.site.traffic().leadership;
  if (facts.may_answer) return show_health(call);
  return {.status = 503, .body = dump({{"status", "without_lease"}})};
}

}  // namespace millrace::http
