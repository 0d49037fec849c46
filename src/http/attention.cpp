#include "http/attention.hpp"

#include <algorithm>
#include <utility>

#include "http/json.hpp"
#include "http/text.hpp"

namespace millrace::http {
namespace {

using Level = Concern::Level;

std::string count_of(std::uint64_t count, const char* what) {
  return concat(count, " ", what, count == 1 ? "" : "s");
}

/// Failures of the last five minutes against the five before.
void look_at_failures(const Trend& trend, std::vector<Concern>& found) {
  constexpr double kWorthMention = 0.05;  // a second
  const Trend::Rates now = trend.rates_between(5min, 0min);
  const Trend::Rates before = trend.rates_between(10min, 5min);
  if (now.failed < kWorthMention) return;
  const double share = now.processed > 0 ? now.failed / now.processed : 1;
  const bool grows = now.failed > 2 * before.failed;
  const bool had_runs = before.processed > 0;
  if (!grows && share < 0.5) return;
  const auto percent = static_cast<int>(share * 100);
  found.push_back({.level = share >= 0.5 ? Level::kTrouble : Level::kNotice,
                   .kind = "failures",
                   .text = concat(percent, " % of the runs of the last minutes failed",
                                  grows && had_runs ? ", more than before" : ""),
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

void Inspection::look_at_queue(const Queue& queue, const View& view, Time now) {
  if (queue.ready.empty()) return;
  const QueueFigures figures = figures_of(queue, view, now);
  if (figures.oldest < found_.oldest) {
    found_.oldest = figures.oldest;
    found_.oldest_queue = queue.name;
  }
  // Of each kind the first ones: that many queues have nobody is one trouble, and must not hide
  // others.
  const auto note = [&](Level level, const char* kind, const std::string& text) {
    found_.troubles += level == Level::kTrouble ? 1 : 0;
    if (++counts_[kind] <= kConcernsOfKindMax) {
      found_.concerns.push_back({.level = level, .kind = kind, .text = text, .queue = queue.name});
    } else {
      ++found_.left_out;
    }
  };
  if (figures.is_paused) {
    note(Level::kNotice, "paused",
         concat("is paused while ", count_of(figures.ready, "job"),
                figures.ready == 1 ? " waits" : " wait"));
  }
  if (is_abandoned(figures, now)) {
    note(Level::kTrouble, "abandoned",
         concat("has ", count_of(figures.ready, "waiting job"), " and nobody who takes ",
                figures.ready == 1 ? "it" : "them"));
  }
}

bool Inspection::look_at_queues(const View& view, Time now) {
  return walk_.visit_some(view, [&](const Queue& queue) { look_at_queue(queue, view, now); });
}

Situation Inspection::conclude(const Site& site, const Moment& moment) const {
  Situation situation = found_;
  std::vector<Concern> found;
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
  const auto is_trouble = [](const Concern& each) { return each.level == Level::kTrouble; };
  situation.troubles +=
      static_cast<std::size_t>(std::count_if(found.begin(), found.end(), is_trouble));
  situation.concerns.insert(situation.concerns.begin(), found.begin(), found.end());
  std::stable_partition(situation.concerns.begin(), situation.concerns.end(), is_trouble);
  return situation;
}

}  // namespace millrace::http
