#include "http/routes/attention.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "http/kit/json.hpp"
#include "http/kit/text.hpp"

namespace millrace::http {
namespace {

using Level = Concern::Level;

/// Long enough for steady numbers, as those of the tiles.
constexpr Duration kNowSpan = 30s;

std::string percent_of(double share) {
  return share > 0 && share < 0.01 ? "less than 1" : std::to_string(static_cast<int>(share * 100));
}

/// Failures may have ended, or begun just now: the rate next to it says so.
std::string share_now(const Trend& trend) {
  const Trend::Rates now = trend.rates(kNowSpan);
  if (now.processed <= 0) return "no run in the last 30 seconds";
  return concat(percent_of(now.failed / now.processed), " % in the last 30 seconds");
}

/// This process has run for both of the spans that are compared.
bool has_run_before(const Site& site, Time now) {
  return now - site.facts.started_at >= 2 * kGrowthSpan;
}

/// Failures of the last five minutes against the five before.
void look_at_failures(const Trend& trend, bool has_run_before, std::vector<Concern>& found) {
  constexpr double kWorthMention = 0.05;  // a second
  const Trend::Rates now = trend.rates_between(5min, 0min);
  const Trend::Rates before = trend.rates_between(10min, 5min);
  // A single failure among few runs is a large share, and not worth a word.
  if (now.failed < kWorthMention) return;
  const double share = now.processed > 0 ? now.failed / now.processed : 1;
  const bool had_runs = before.processed > 0;
  // While no server ran, no run failed.
  const bool grows = has_run_before && now.failed > 2 * before.failed;
  if (!grows && share < 0.5) return;
  std::string percent = percent_of(share);
  if (percent.starts_with('l')) percent.front() = 'L';
  found.push_back(
      {.level = share >= 0.5 ? Level::kTrouble : Level::kNotice,
       .kind = "failures",
       .text = concat(percent, " % of runs failed in the last 5 minutes",
                      grows && had_runs ? ", more than before" : "", " (", share_now(trend), ")")});
}

void look_at_room(const SystemFacts& system, std::vector<Concern>& found) {
  const auto share = [](std::uint64_t part, std::uint64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  if (system.disk_total_bytes > 0) {
    const double left = share(system.disk_free_bytes, system.disk_total_bytes);
    if (left < kRoomLow) {
      found.push_back({.level = left < kRoomLow / 2 ? Level::kTrouble : Level::kNotice,
                       .kind = "disk",
                       .text = concat("Only ", static_cast<int>(left * 100),
                                      " % of the journal's disk is free")});
    }
  }
  if (system.memory_total_bytes > 0) {
    const double used = share(system.memory_bytes, system.memory_total_bytes);
    if (used > 1 - kRoomLow) {
      found.push_back({.level = Level::kTrouble,
                       .kind = "memory",
                       .text = concat("The server uses ", static_cast<int>(used * 100),
                                      " % of the machine's memory")});
    }
  }
}

/// Bodies that are in the journal leave the memory in time. Jobs without them fill the limit.
void look_at_limit(const Broker& broker, std::vector<Concern>& found) {
  const std::uint64_t limit = broker.ledger().memory().bytes_max();
  const std::uint64_t needed = broker.ledger().memory().needed_bytes();
  // When jobs are refused already, that is said instead.
  if (broker.refuses_jobs() || needed < limit - limit / kRoomLowPart) return;
  found.push_back({.level = Level::kTrouble,
                   .kind = "memory",
                   .text = concat("Jobs use ", needed / (limit / 100 + 1),
                                  " % of --memory-limit; at 100 % new jobs are refused")});
}

void look_at_bodies(const View& view, std::vector<Concern>& found) {
  const std::uint64_t unreadable = view.jobs().unreadable_count();
  // Of those that are deleted meanwhile, the broker learns when it reads their bodies again.
  const std::uint64_t aside = std::min(unreadable, view.tally().jobs_set_aside);
  const auto add = [&found](std::uint64_t jobs, const char* kind, std::string_view end) {
    if (jobs == 0) return;
    found.push_back({.level = Level::kTrouble,
                     .kind = kind,
                     .text = concat("The ", jobs == 1 ? "body" : "bodies", " of ",
                                    count_of(jobs, "job"), end)});
  };
  add(unreadable - aside, "bodies", " could not be read from the journal");
  add(aside, "bodies_awaited",
      " cannot currently be read from disk; the server retries every minute");
}

std::string text_of_fullness(const Broker& broker) {
  if (broker.admission() == Admission::kEndingsOnly) {
    return "The journal's disk is full: jobs can be finished or deleted, nothing else";
  }
  if (broker.admission() == Admission::kNoGrowth) {
    return "The journal's disk is full: new jobs, burying, delays and pauses are refused";
  }
  return broker.ledger().memory().is_full(broker.admission())
             ? "Jobs have reached --memory-limit, and new jobs are refused"
             : "The journal's disk is full, and new jobs are refused";
}

/// "90 s", "23 min", "2 h"
std::string length_of(Duration length) {
  if (length < 2min) return concat(std::chrono::floor<std::chrono::seconds>(length).count(), " s");
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(length).count();
  return minutes < 120 ? concat(minutes, " min") : concat(minutes / 60, " h");
}

/// Up to `kConcernsOfKindMax`. Returns how many more there are.
std::size_t look_at_workers(const Site& site, Time now, std::vector<Concern>& found) {
  std::size_t count = 0;
  for (const auto& [wid, stuck] : site.stuck.all()) {
    if (++count > kConcernsOfKindMax) continue;
    const auto worker = site.broker.view().workers().find(wid);
    const bool is_connected = worker != site.broker.view().workers().end();
    found.push_back(
        {.level = Level::kNotice,
         .kind = "stuck",
         .text = concat(is_connected ? "is likely stuck: " : "is gone or likely stuck: ",
                        count_of(stuck.jobs, "job"), ", none finished for ",
                        length_of(now - stuck.since)),
         .wid = wid,
         .worker = is_connected && !worker->second.hostname.empty()
                       ? concat(worker->second.hostname, ":", worker->second.pid)
                       : wid});
  }
  return count - std::min(count, kConcernsOfKindMax);
}

void look_at_left_jobs(const Site& site, Time now, std::vector<Concern>& found) {
  const StuckWorkers::Left& left = site.stuck.left();
  if (left.jobs == 0 || left.ends <= now) return;
  found.push_back({.level = Level::kNotice,
                   .kind = "left",
                   .text = concat(count_of(left.jobs, "job"), left.jobs == 1 ? " is" : " are",
                                  " held by disconnected clients without a wid; the last times out "
                                  "in ",
                                  length_of(left.ends - now))});
}

/// How often an error came in the last `kGrowthSpan`, and in the one before. `ends`: after the
/// present interval.
std::pair<std::uint64_t, std::uint64_t> counts_of(const FailureSeries& failures,
                                                  std::uint64_t group, std::int64_t ends) {
  constexpr auto kIntervals = static_cast<std::size_t>(kGrowthSpan / kSpans[0].interval);
  const auto counts = failures.counts(group, 0, ends);
  std::pair<std::uint64_t, std::uint64_t> sums;
  for (std::size_t i = 0; counts && i < counts->size() && i < 2 * kIntervals; ++i) {
    (i < kIntervals ? sums.first : sums.second) +=
        counts->end()[-1 - static_cast<std::ptrdiff_t>(i)];
  }
  return sums;
}

/// Returns how many more than `kConcernsOfKindMax` there are.
std::size_t look_at_errors(const Site& site, Time now, std::vector<Concern>& found) {
  if (!has_run_before(site, now)) return 0;
  const View& view = site.broker.view();
  const std::vector<std::uint64_t> groups = site.failures.groups_since(now - kGrowthSpan);
  std::size_t count = 0;
  for (std::size_t i = 0; i < std::min(groups.size(), kErrorsLookedAt); ++i) {
    const auto [now_count, before] = counts_of(site.failures, groups[i], ends_at(now)[0] + 1);
    if (now_count < kErrorGrowthMin || now_count < 2 * before) continue;
    const auto* const jobs = view.orders().failures().find(groups[i]);
    const ErrorMark* const mark = view.error_marks().find(groups[i]);
    if (mark != nullptr && mark->is_muted(now, jobs == nullptr ? 0 : jobs->size)) continue;
    if (++count > kConcernsOfKindMax) continue;
    const FailureSeries::Name& name = *site.failures.name(groups[i]);
    found.push_back({.level = Level::kNotice,
                     .kind = "error",
                     .text = concat(name.type.empty() ? name.message : name.type, " occurred ",
                                    count_of(now_count, "time"), " in the last 5 minutes, up from ",
                                    grouped(before), " in the 5 minutes before"),
                     .error = hex(groups[i])});
  }
  return count - std::min(count, kConcernsOfKindMax);
}

/// How many jobs a second come to the queue that do not leave it; 0: it does not grow.
double growth_of(const QueueFigures& figures, const Line* line, std::int64_t ends) {
  constexpr auto kIntervals = static_cast<std::size_t>(kGrowthSpan / kSpans[0].interval);
  if (line == nullptr || figures.ready < kGrowthJobsMin) return 0;
  if (figures.enqueued_rate <= figures.processed_rate) return 0;
  const std::vector<Point> points = line->points(0, ends);
  if (points.size() < 2 * kIntervals) return 0;
  const auto ready_at = [&](std::size_t back) {
    return (points.end() - static_cast<std::ptrdiff_t>(back))->ready.value();
  };
  // While no server ran, nobody knows.
  for (std::size_t back = 1; back <= 2 * kIntervals; ++back) {
    if (!ready_at(back)) return 0;
  }
  const auto now = static_cast<double>(*ready_at(1));
  const auto middle = static_cast<double>(*ready_at(kIntervals));
  const auto before = static_cast<double>(*ready_at(2 * kIntervals));
  if (middle <= before || now <= middle || now - before < now / kRoomLowPart) return 0;
  return (now - before) / std::chrono::duration<double>(2 * kGrowthSpan).count();
}

/// How long until jobs that come so fast fill the memory that they may take. nullopt: there is no
/// limit, or it is far away.
std::optional<Duration> until_full(const Broker& broker, double jobs_per_s) {
  constexpr std::chrono::hours kFarAway{48};
  const JobMemory& memory = broker.ledger().memory();
  std::uint64_t jobs = 0;
  for (const JobState state : {JobState::kReady, JobState::kReserved, JobState::kScheduled,
                               JobState::kRetrying, JobState::kDead}) {
    jobs += broker.view().orders().count(state);
  }
  if (memory.bytes_max() == SIZE_MAX || jobs == 0) return std::nullopt;
  const std::size_t needed = memory.needed_bytes();
  if (needed >= memory.bytes_max()) return std::nullopt;
  const double bytes_per_s = jobs_per_s * static_cast<double>(needed) / static_cast<double>(jobs);
  const std::chrono::duration<double> left(static_cast<double>(memory.bytes_max() - needed) /
                                           bytes_per_s);
  if (left > kFarAway) return std::nullopt;
  return std::chrono::duration_cast<Duration>(left);
}

Concern show_growing(const Backlog& backlog, const Broker& broker) {
  const auto full = until_full(broker, backlog.growth_per_s);
  char rate[32];
  std::snprintf(rate, sizeof rate, backlog.growth_per_s < 10 ? "%.1f" : "%.0f",
                backlog.growth_per_s);
  return {.level = full && *full < 1h ? Level::kTrouble : Level::kNotice,
          .kind = "growing",
          .text = concat("grows by ", rate, " jobs/s, ", grouped(backlog.jobs), " waiting",
                         full ? concat("; --memory-limit is reached in ", length_of(*full)) : ""),
          .queue = backlog.queue};
}

}  // namespace

std::string sentence_of(const Concern& concern) {
  const std::string about = concern.wid.empty() ? concern.queue : concat("Worker ", concern.worker);
  return concat(about, about.empty() ? "" : " ", concern.text);
}

Concern show_abandoned(const Backlog& backlog) {
  return {.level = Level::kTrouble,
          .kind = "abandoned",
          .text = concat("has ", count_of(backlog.jobs, "waiting job"), " and no worker"),
          .queue = backlog.queue};
}

Concern show_paused(const Backlog& backlog) {
  return {.level = Level::kNotice,
          .kind = "paused",
          .text = concat("is paused with ", count_of(backlog.jobs, "waiting job")),
          .queue = backlog.queue};
}

Concern show_late(const std::string& queue, Duration waited) {
  return {.level = Level::kTrouble,
          .kind = "latency",
          .text = concat("has a job that has been ready for ", length_of(waited)),
          .queue = queue};
}

void Inspection::look_at_queue(const QueueFigures& figures, const Site& site, Time now) {
  if (figures.oldest < found_.oldest) {
    found_.oldest = figures.oldest;
    found_.oldest_queue = figures.queue->name;
  }
  const std::string& queue = figures.queue->name;
  const auto add = [&](Backlogs& all, double growth = 0) {
    all.add({.queue = queue, .jobs = figures.ready, .growth_per_s = growth});
  };
  if (figures.is_paused) return add(paused_);
  if (is_abandoned(figures, now)) return add(abandoned_);
  const double growth = growth_of(figures, site.series.find_queue(queue), site.series.ends()[0]);
  if (growth > 0) add(growing_, growth);
}

void Inspection::Backlogs::add(Backlog backlog) {
  ++count;
  const auto is_longer = [](std::uint64_t jobs, const Backlog& other) { return jobs > other.jobs; };
  const auto place = std::upper_bound(longest.begin(), longest.end(), backlog.jobs, is_longer);
  // Only the longest are named. The rest are counted.
  if (place == longest.end() && longest.size() == kConcernsOfKindMax) return;
  longest.insert(place, std::move(backlog));
  if (longest.size() > kConcernsOfKindMax) longest.pop_back();
}

bool Inspection::look_at_queues(const Site& site, Time now,
                                const std::function<void(const QueueFigures&)>& also,
                                std::size_t count) {
  const auto look = [&](const Queue& queue) {
    // Most queues of a large server are empty: nothing else is asked of them.
    if (queue.ready.empty() || (queues_ && !queues_->has(queue))) return;
    const QueueFigures figures = figures_of(queue, site.broker.view(), now);
    look_at_queue(figures, site, now);
    if (also) also(figures);
  };
  return walk_.visit_some(site.broker.view(), look, count);
}

Situation Inspection::conclude(const Site& site, const Moment& moment) const {
  Situation situation = found_;
  situation.troubles = abandoned_.count;
  situation.left_out = abandoned_.left_out() + paused_.left_out() + growing_.left_out();
  std::vector<Concern>& found = situation.concerns;
  if (site.traffic().is_stalled) {
    found.push_back({.level = Level::kTrouble,
                     .kind = "stalled",
                     .text = "The journal's disk does not respond, and no change is answered"});
  }
  if (site.broker.refuses_jobs()) {
    found.push_back(
        {.level = Level::kTrouble, .kind = "full", .text = text_of_fullness(site.broker)});
  }
  if (site.traffic().is_draining) {
    found.push_back(
        {.level = Level::kNotice,
         .kind = "draining",
         .text = "Drain mode (SIGUSR1): puts over beanstalk are refused until a restart"});
  }
  if (!queues_ || queues_->is_all()) {
    look_at_bodies(site.broker.view(), found);
    look_at_limit(site.broker, found);
    look_at_room(moment.system, found);
    look_at_failures(site.trend, has_run_before(site, moment.now), found);
    situation.left_out += look_at_errors(site, moment.now, found);
    situation.left_out += look_at_workers(site, moment.now, found);
    look_at_left_jobs(site, moment.now, found);
  }
  for (const Backlog& each : growing_.longest) found.push_back(show_growing(each, site.broker));
  const auto is_trouble = [](const Concern& each) { return each.level == Level::kTrouble; };
  situation.troubles +=
      static_cast<std::size_t>(std::count_if(found.begin(), found.end(), is_trouble));
  for (const Backlog& each : abandoned_.longest) found.push_back(show_abandoned(each));
  for (const Backlog& each : paused_.longest) found.push_back(show_paused(each));
  // Within a level the order says what is worse: the server's own troubles come before those of
  // queues.
  std::stable_partition(found.begin(), found.end(), is_trouble);
  return situation;
}

}  // namespace millrace::http
