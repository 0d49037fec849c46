#include "http/attention.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "http/json.hpp"
#include "http/queue_view.hpp"
#include "http/text.hpp"

namespace millrace::http {
namespace {

using Level = Concern::Level;

std::string count_of(std::uint64_t count, const char* what) {
  return concat(count, " ", what, count == 1 ? "" : "s");
}

void look_at_queue(const QueueFigures& figures, Time now, std::vector<Concern>& found) {
  const std::string& name = figures.queue->name;
  if (figures.is_paused && figures.ready > 0) {
    found.push_back({.level = Level::kNotice,
                     .kind = "paused",
                     .text = concat("is paused while ", count_of(figures.ready, "job"),
                                    figures.ready == 1 ? " waits" : " wait"),
                     .queue = name});
  }
  if (is_abandoned(figures, now)) {
    found.push_back({.level = Level::kTrouble,
                     .kind = "abandoned",
                     .text = concat("has ", count_of(figures.ready, "waiting job"),
                                    " and nobody who takes ", figures.ready == 1 ? "it" : "them"),
                     .queue = name});
  }
}

/// Failures of the last five minutes against the five before.
void look_at_failures(const Trend& trend, std::vector<Concern>& found) {
  constexpr double kWorthMention = 0.05;  // a second
  const Trend::Rates now = trend.rates_between(5min, 0min);
  const Trend::Rates before = trend.rates_between(10min, 5min);
  if (now.failed < kWorthMention) return;
  const double share = now.processed > 0 ? now.failed / now.processed : 1;
  const bool grows = now.failed > 2 * before.failed;
  if (!grows && share < 0.5) return;
  const auto percent = static_cast<int>(share * 100);
  found.push_back({.level = share >= 0.5 ? Level::kTrouble : Level::kNotice,
                   .kind = "failures",
                   .text = concat(percent, " % of the runs of the last minutes failed",
                                  grows ? ", more than before" : ""),
                   .queue = {}});
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
                       .text = concat("The disk of the journal has only ",
                                      static_cast<int>(left * 100), " % left"),
                       .queue = {}});
    }
  }
  if (system.memory_total_bytes > 0) {
    const double used = share(system.memory_bytes, system.memory_total_bytes);
    if (used > 1 - kRoomLow) {
      found.push_back({.level = Level::kTrouble,
                       .kind = "memory",
                       .text = concat("The server uses ", static_cast<int>(used * 100),
                                      " % of the machine's memory"),
                       .queue = {}});
    }
  }
}

/// Bodies that the journal keeps are let go of in time; jobs without them fill the limit.
void look_at_limit(const Broker& broker, std::vector<Concern>& found) {
  const std::uint64_t limit = broker.memory_bytes_max();
  const std::uint64_t needed = broker.needed_memory_bytes();
  if (broker.refuses_jobs() || needed < limit - limit / kRoomLowPart) return;
  found.push_back({.level = Level::kTrouble,
                   .kind = "memory",
                   .text = concat("Jobs take ", needed / (limit / 100 + 1),
                                  " % of --memory-limit; at 100 % new ones are refused"),
                   .queue = {}});
}

/// Of each kind the first ones: that many queues have nobody is one trouble, and must not hide
/// others.
void keep_some(Situation& situation) {
  std::map<std::string, std::size_t> seen;
  std::vector<Concern> kept;
  for (Concern& concern : situation.concerns) {
    const bool is_trouble = concern.level == Level::kTrouble;
    situation.troubles += is_trouble ? 1 : 0;
    if (++seen[concern.kind] <= kConcernsOfKindMax) kept.push_back(std::move(concern));
  }
  situation.left_out = situation.concerns.size() - kept.size();
  situation.concerns = std::move(kept);
}

std::string text_of_fullness(const Broker& broker) {
  if (broker.intake() == Intake::kEndings) {
    return "The disk of the journal is full, and jobs can only be ended: there must be fewer of "
           "them";
  }
  if (broker.intake() == Intake::kNothingLonger) {
    return "The disk of the journal is full: new jobs are refused, and burying, delays and pauses";
  }
  return broker.is_memory_full() ? "Jobs have reached --memory-limit, and new ones are refused"
                                 : "The disk of the journal is full, and new jobs are refused";
}

}  // namespace

Situation look_at(const Site& site, const Moment& moment) {
  const View& view = site.broker.view();
  Situation situation;
  std::vector<Concern>& found = situation.concerns;
  if (site.traffic().is_stalled) {
    found.push_back({.level = Level::kTrouble,
                     .kind = "stalled",
                     .text = "The disk of the journal stores nothing, and no change is answered",
                     .queue = {}});
  }
  if (site.broker.refuses_jobs()) {
    found.push_back({.level = Level::kTrouble,
                     .kind = "full",
                     .text = text_of_fullness(site.broker),
                     .queue = {}});
  }
  look_at_limit(site.broker, found);
  look_at_room(moment.system, found);
  look_at_failures(site.trend, found);
  std::size_t looked_at = 0;
  const auto look = [&](const Queue& queue) {
    if (queue.ready.empty() || ++looked_at > kQueuesLookedAt) return;
    const QueueFigures figures = figures_of(queue, view, moment.now);
    look_at_queue(figures, moment.now, found);
    if (figures.oldest < situation.oldest) {
      situation.oldest = figures.oldest;
      situation.oldest_queue = queue.name;
    }
  };
  view.page_queues(0, view.queues_end(), kQueuesPassedMax, look);
  std::stable_sort(found.begin(), found.end(), [](const Concern& a, const Concern& b) {
    return a.level == Level::kTrouble && b.level == Level::kNotice;
  });
  keep_some(situation);
  return situation;
}

}  // namespace millrace::http
