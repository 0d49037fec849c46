#include "server/cron/cron_runner.hpp"

#include <algorithm>
#include <array>

#include "base/base64.hpp"
#include "base/hash.hpp"

namespace millrace::server {
namespace {

/// How long it takes at least until there is one newer run.
constexpr Duration kNewestKnownFor = 1s;

/// How much later than planned that run is done: the same whenever it is asked for, so that a
/// restart changes nothing.
Duration delay_of(const CronItem& item, Time planned) {
  if (item.jitter == Duration{} || planned == kNever) return {};
  Fnv1a digest;
  digest.add(item.id);
  digest.add(std::to_string(planned.time_since_epoch().count()));
  const auto most = std::chrono::duration_cast<std::chrono::milliseconds>(item.jitter).count();
  return std::chrono::milliseconds(digest.value() % (static_cast<std::uint64_t>(most) + 1));
}

std::string_view name_of(CatchUp catch_up) {
  switch (catch_up) {
    case CatchUp::kOne:
      return "one";
    case CatchUp::kNone:
      return "none";
    case CatchUp::kAll:
      break;
  }
  return "all";
}

}  // namespace

void CronRunner::set(SharedCronTable table) {
  table_ = std::move(table);
  look_again();
}

void CronRunner::begin() {
  is_serving_ = true;
  look_again();
}

void CronRunner::stop() {
  is_serving_ = false;
  parts_.ticker.plan(*this, kNever);
}

void CronRunner::look_again() {
  must_compare_ = true;
  if (is_serving_) parts_.ticker.plan(*this, kAtOnce);
}

// ---- what is due --------------------------------------------------------------------------------

/// Tells the log which entries there are, and learns from it what was done of each: a slice.
void CronRunner::compare_with_log(Time wall) {
  if (std::exchange(must_compare_, false)) {
    plan_.clear();
    planned_.assign(items().size(), kNever);
    looked_.assign(items().size(), Time{});
    told_to_.assign(items().size(), Time{});
    compared_ = 0;
    gone_.clear();
    parts_.broker.view().cron().each([&](const CronEntry& entry) {
      if (!table_->places.contains(entry.id)) gone_.push_back(entry.id);
    });
  }
  for (std::size_t i = 0; i < kSliceChanges && is_comparing(); ++i) {
    if (compared_ < items().size()) {
      plan_item(compared_++, wall);
    } else {
      parts_.broker.cron().end(gone_.back(), wall);
      gone_.pop_back();
    }
  }
}

void CronRunner::plan_item(Place place, Time wall) {
  const CronItem& item = items()[place];
  if (planned_[place] != kNever) plan_.erase({planned_[place], place});
  planned_[place] = kNever;
  // A full disk takes no new entries.
  if (!parts_.broker.cron().begin(item.id, item.content, wall)) {
    planned_[place] = wall + kCronRoomInterval;
  } else if (const CronEntry* const entry = known(item); item.is_enabled && !entry->is_paused) {
    const Time next = item.schedule.next_run(entry->planned);
    planned_[place] = next == kNever ? kNever : next + delay_of(item, next);
  }
  if (planned_[place] != kNever) plan_.emplace(planned_[place], place);
}

void CronRunner::plan_next(Time now) {
  const WallClock clock = parts_.broker.view().wall_clock();
  const Time next = plan_.empty() ? kNever : plan_.begin()->first;
  if (next == kNever && !is_comparing()) return parts_.ticker.plan(*this, kNever);
  // Not in this turn: one slice a turn.
  Time at = std::max(clock.steady(next), now + 1ns);
  if (is_waiting_for_room_) at = std::max(at, now + kCronRoomInterval);
  if (is_comparing()) at = now + 1ns;
  parts_.ticker.plan(*this, at);
}

void CronRunner::expire(Time now) {
  if (is_comparing()) compare_with_log(wall(now));
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < kSliceRuns && bytes < kSliceBodyBytes; ++i) {
    if (plan_.empty() || plan_.begin()->first > wall(now)) break;
    const bool was_waiting = std::exchange(is_waiting_for_room_, parts_.broker.refuses_jobs());
    if (is_waiting_for_room_) {
      if (!was_waiting) parts_.log.event("cron_waits", {{"reason", "no room for jobs"}});
      break;
    }
    const Place place = plan_.begin()->second;
    bytes += items()[place].job.size();
    run_due(place, now);
  }
  plan_next(now);
}

CronRunner::Due CronRunner::choose(Place place, Time last, Time until) {
  const CronItem& item = items()[place];
  const cron::Schedule& schedule = item.schedule;
  const Time first = schedule.next_run(last);
  Time from = last;
  std::size_t count = 1;
  switch (item.catch_up) {
    case CatchUp::kAll:
      count = kCatchUpMax;
      break;
    case CatchUp::kOne:
      from = std::max(last, until - kCatchUpOneMax - 1ns);
      break;
    case CatchUp::kNone:
      from = std::max(last, until - kCronLateMax - 1ns);
      break;
  }
  // To look for the newest ones takes longer than to see that there are no others. Of the thousand
  // that were found, each is done without looking again.
  const bool has_looked = until - looked_[place] < kNewestKnownFor && until >= looked_[place];
  const bool is_alone = schedule.next_run(schedule.next_run(from)) > until;
  if (!is_alone && !(has_looked && item.catch_up == CatchUp::kAll)) {
    from = schedule.skip_to_newest(from, until, count);
    looked_[place] = until;
  }
  const Time planned = schedule.next_run(from);
  // Where all are done, the first one tells of those that were missed with it.
  const bool is_first_late = !is_alone || until - first > kCatchUpOneMax;
  const bool tells = item.catch_up == CatchUp::kAll && is_first_late && first > told_to_[place];
  if (tells) told_to_[place] = until;
  return {.planned = planned, .has_missed = planned != first || tells};
}

void CronRunner::run_due(Place place, Time now) {
  const CronItem& item = items()[place];
  const Time wall = this->wall(now);
  const CronEntry* const entry = known(item);
  if (entry == nullptr) return plan_item(place, wall);
  const Time last = entry->planned;
  // Lateness counts from when the run was to be done.
  const Time until = wall - delay_of(item, item.schedule.next_run(last));
  const Due due = choose(place, last, until);
  if (due.has_missed) {
    parts_.log.event("cron_missed", {{"entry", item.id},
                                     {"seconds", seconds_text(wall - item.schedule.next_run(last))},
                                     {"catch_up", name_of(item.catch_up)}});
  }
  if (due.planned <= until) {
    (void)run(item, {.planned = due.planned, .at = wall}, now);
  } else {
    parts_.broker.cron().skip(item.id, until);
  }
  plan_item(place, wall);
}

// ---- running ------------------------------------------------------------------------------------

/// 16 characters of base64url, as Faktory's are.
std::string CronRunner::draw_jid() const {
  std::string bytes;
  for (const std::uint64_t number : {parts_.random(), parts_.random()}) {
    for (int i = 0; i < 6; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xff);
  }
  std::string jid = base64(bytes);
  std::replace(jid.begin(), jid.end(), '+', '-');
  std::replace(jid.begin(), jid.end(), '/', '_');
  return jid;
}

/// The job and what is remembered of its run are recorded together.
Result<std::string, PushRefusal> CronRunner::run(const CronItem& item, CronRun run, Time now) {
  std::string jid = draw_jid();
  const std::string json = "{\"jid\":\"" + jid + "\"," + item.job.substr(1);
  const Result<JobId, PushRefusal> pushed = parts_.push(json, now, run.planned);
  if (!pushed) {
    parts_.log.event(
        "cron_refused",
        {{"entry", item.id}, {"job", item.jobtype + "/" + jid}, {"problem", pushed.error().text}});
    run.problem = pushed.error().text;
    parts_.broker.cron().note(item.id, std::move(run));
    return pushed.error();
  }
  parts_.log.routine("cron_enqueued", {{"entry", item.id}, {"job", item.jobtype + "/" + jid}});
  run.job = *pushed;
  run.jid = jid;
  parts_.broker.cron().note(item.id, std::move(run));
  return jid;
}

// ---- for operators ------------------------------------------------------------------------------

CronBoard::Entry CronRunner::entry_of(const CronItem& item) const {
  Entry entry{.id = item.id,
              .is_named = item.is_named,
              .schedule = item.schedule_text,
              .time_zone = item.schedule.zone().name(),
              .catch_up = std::string(name_of(item.catch_up)),
              .jobtype = item.jobtype,
              .queue = item.queue,
              .args = item.args,
              .custom = item.custom,
              .retry = item.retry,
              .reserve_for = item.reserve_for,
              .jitter = std::chrono::duration_cast<std::chrono::seconds>(item.jitter),
              .is_enabled = item.is_enabled};
  const CronEntry* const known = this->known(item);
  if (known == nullptr) return entry;
  entry.is_paused = known->is_paused;
  entry.runs = known->runs;
  if (entry.is_paused || !item.is_enabled) return entry;
  for (Time run = item.schedule.next_run(known->planned);
       run != kNever && entry.next.size() < kCronNextRuns; run = item.schedule.next_run(run)) {
    const auto utc = std::chrono::floor<std::chrono::seconds>(run.time_since_epoch());
    entry.next.push_back(run);
    entry.next_offsets.push_back(item.schedule.zone().period_at(utc).offset);
  }
  return entry;
}

std::vector<CronBoard::Entry> CronRunner::page(std::size_t begin, std::size_t limit) const {
  std::vector<Entry> entries;
  for (Place place = begin; place < items().size() && entries.size() < limit; ++place) {
    entries.push_back(entry_of(items()[place]));
  }
  return entries;
}

std::optional<CronRunner::Place> CronRunner::place_of(std::string_view id) const {
  const auto found = table_->places.find(id);
  return found == table_->places.end() ? std::nullopt : std::optional<Place>(found->second);
}

std::optional<CronBoard::Entry> CronRunner::find(std::string_view id) const {
  const std::optional<Place> place = place_of(id);
  if (!place) return std::nullopt;
  return entry_of(items()[*place]);
}

Result<std::string, PushRefusal> CronRunner::run_now(std::string_view id, Time now) {
  const std::optional<Place> place = place_of(id);
  if (!place || known(items()[*place]) == nullptr) {
    return PushRefusal{PushRefusal::Reason::kInvalid, "there is no such cron entry"};
  }
  const Time wall = this->wall(now);
  return run(items()[*place], {.planned = wall, .at = wall, .is_by_hand = true}, now);
}

Answer<Done> CronRunner::pause(std::string_view id, Time now) {
  const std::optional<Place> place = place_of(id);
  if (!place) return Refusal::kNotFound;
  const Answer<Done> paused = parts_.broker.cron().pause(id);
  if (paused && is_serving_ && !must_compare_) plan_item(*place, wall(now));
  return paused;
}

Answer<Done> CronRunner::resume(std::string_view id, Time now) {
  const std::optional<Place> place = place_of(id);
  if (!place) return Refusal::kNotFound;
  const Answer<Done> resumed = parts_.broker.cron().resume(id, wall(now));
  if (!resumed || !is_serving_ || must_compare_) return resumed;
  plan_item(*place, wall(now));
  plan_next(now);
  return resumed;
}

}  // namespace millrace::server
