#include "server/cron/cron_runner.hpp"

#include <absl/container/btree_map.h>

#include <algorithm>
#include <deque>

#include "base/base64.hpp"
#include "base/hash.hpp"

namespace millrace::server {
namespace {

/// How long it takes at least until there is one newer run.
constexpr Duration kNewestKnownFor = 1s;

/// Of the time to the next run, jitter takes nine tenths at most: so runs keep their order, and a
/// loop that wakes a little late does not find two of them due.
constexpr int kJitterTenthsMax = 9;

/// How much later than planned that run is done: the same whenever it is asked for, so that a
/// restart changes nothing.
Duration delay_of(const CronItem& item, Time planned) {
  if (item.jitter == Duration{} || planned == kNever) return {};
  Fnv1a digest;
  digest.add(item.id);
  digest.add(std::to_string(planned.time_since_epoch().count()));
  const Duration gap = item.schedule.next_run(planned) - planned;
  const auto most = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::min(item.jitter, gap / 10 * kJitterTenthsMax));
  return std::chrono::milliseconds(digest.value() % (static_cast<std::uint64_t>(most.count()) + 1));
}

/// At `wall`, runs that are planned until then are due, of those after `last`. The newest one may
/// be held back by its jitter still; no other can be.
Time due_until(const CronItem& item, Time last, Time wall) {
  if (item.jitter == Duration{}) return wall;
  const Time from = std::max(last, wall - item.jitter - 1s);
  const Time newest = item.schedule.next_run(item.schedule.skip_to_newest(from, wall, 1));
  return newest <= wall && newest + delay_of(item, newest) > wall ? newest - 1ns : wall;
}

/// How late a run may be, where not all are done.
Duration late_max(const CronItem& item) {
  return item.catch_up == CatchUp::kOne ? kCatchUpOneMax : kCronLateMax;
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
    keep_held_runs(wall);
    plan_.clear();
    planned_.assign(items().size(), kNever);
    looked_.assign(items().size(), Time{});
    logged_until_.assign(items().size(), Time{});
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

/// The entries have changed. What jitter holds back was planned before that, so it is done, as the
/// new entries say: those of the same name, or else new ones of the same schedule in their order.
void CronRunner::keep_held_runs(Time wall) {
  const SharedCronTable before = std::exchange(planned_by_, table_);
  if (before == table_) return;
  absl::erase_if(held_, [&](const auto& held) { return !table_->places.contains(held.first); });
  using Times = std::pair<std::string_view, std::string_view>;
  absl::btree_map<Times, std::deque<std::string_view>> heirs;
  for (const CronItem& item : items()) {
    if (before->places.contains(item.id)) continue;
    heirs[{item.schedule_text, item.time_zone}].push_back(item.id);
  }
  for (Place place = 0; place < planned_.size(); ++place) {
    const CronItem& item = before->items[place];
    std::string_view heir = item.id;
    if (!table_->places.contains(item.id)) {
      const auto found = heirs.find({item.schedule_text, item.time_zone});
      if (found == heirs.end() || found->second.empty()) continue;
      heir = found->second.front();
      found->second.pop_front();
    }
    const Time due = planned_[place];
    const CronEntry* const entry = known(item);
    if (due > wall + item.jitter || due + kCronLateMax < wall || entry == nullptr) continue;
    const Time run = item.schedule.next_run(entry->planned);
    if (run <= wall) held_[heir] = run;
  }
}

void CronRunner::plan_item(Place place, Time wall) {
  if (planned_[place] != kNever) plan_.erase({planned_[place], place});
  planned_[place] = next_look(items()[place], wall);
  if (planned_[place] != kNever) plan_.emplace(planned_[place], place);
}

/// When to look at an entry next, which the log knows then.
Time CronRunner::next_look(const CronItem& item, Time wall) {
  const auto held = held_.find(item.id);
  const bool has_held = held != held_.end();
  // One that the entry plans too is done at its time, others at once.
  const bool waits = has_held && item.schedule.next_run(held->second - 1ns) == held->second &&
                     held->second + delay_of(item, held->second) > wall;
  const Time begin = waits ? held->second - 1ns : begin_of(item, wall);
  // A full disk takes no new entries.
  if (!parts_.broker.cron().begin(item.id, item.content, begin)) return wall + kCronRoomInterval;
  const CronEntry* const entry = known(item);
  const bool runs = item.is_enabled && !entry->is_paused;
  if (has_held && runs && !waits) return wall;
  if (has_held) held_.erase(held);
  const Time next = runs ? item.schedule.next_run(entry->planned) : kNever;
  return next == kNever ? kNever : next + delay_of(item, next);
}

/// Where the runs begin of an entry that is new or was changed. What its jitter puts off until
/// after `wall` was not missed. But nobody knows whether that of a new one was done under another
/// name.
Time CronRunner::begin_of(const CronItem& item, Time wall) const {
  const CronEntry* const entry = known(item);
  if (entry == nullptr) return wall;
  const bool is_same = entry->content == item.content && entry->gone_since == Time{};
  return is_same ? wall : due_until(item, {}, wall);
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

CronRunner::Due CronRunner::choose(Place place, Time last, Time wall) {
  const CronItem& item = items()[place];
  const cron::Schedule& schedule = item.schedule;
  const Time until = due_until(item, last, wall);
  const Time first = schedule.next_run(last);
  const bool does_all = item.catch_up == CatchUp::kAll;
  // No run before this one is done.
  Time from = does_all ? last : std::max(last, until - item.jitter - late_max(item) - 1ns);
  // To look for the newest ones takes longer than to see that there are no others. Of the thousand
  // that were found, each is done without looking again.
  const bool has_looked = until - looked_[place] < kNewestKnownFor && until >= looked_[place];
  const bool is_alone = schedule.next_run(schedule.next_run(from)) > until;
  if (!is_alone && !(has_looked && does_all)) {
    from = schedule.skip_to_newest(from, until, does_all ? kCatchUpMax : 1);
    looked_[place] = until;
  }
  const Time planned = schedule.next_run(from);
  const bool is_due = planned <= until;
  // Lateness counts from when the run was to be done.
  const auto lateness = [&](Time run) { return wall - run - delay_of(item, run); };
  if (!is_due || (!does_all && lateness(planned) > late_max(item))) {
    return {.planned = until, .is_done = false, .has_missed = first <= until};
  }
  // Where all are done, the first one stands for those that were missed with it.
  const bool is_first_late = !is_alone || lateness(first) > kCatchUpOneMax;
  const bool is_logged = does_all && is_first_late && first > logged_until_[place];
  if (is_logged) logged_until_[place] = until;
  return {.planned = planned, .is_done = true, .has_missed = planned != first || is_logged};
}

void CronRunner::run_due(Place place, Time now) {
  const CronItem& item = items()[place];
  const Time wall = this->wall(now);
  const CronEntry* const entry = known(item);
  if (entry == nullptr) return plan_item(place, wall);
  if (const auto held = held_.find(item.id); held != held_.end()) {
    (void)run(item, {.planned = held->second, .at = wall}, now);
    held_.erase(held);
    return plan_item(place, wall);
  }
  const Time first = item.schedule.next_run(entry->planned);
  const Due due = choose(place, entry->planned, wall);
  if (due.has_missed) {
    parts_.log.event("cron_missed", {{"entry", item.id},
                                     {"seconds", seconds_text(wall - first)},
                                     {"catch_up", name_of(item.catch_up)}});
  }
  if (due.is_done) {
    (void)run(item, {.planned = due.planned, .at = wall}, now);
  } else {
    parts_.broker.cron().skip(item.id, due.planned);
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
              .words = item.schedule.in_words().value_or(std::string()),
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
  const Time begin = due_until(items()[*place], {}, wall(now));
  const Answer<Done> resumed = parts_.broker.cron().resume(id, begin);
  if (!resumed || !is_serving_ || must_compare_) return resumed;
  plan_item(*place, wall(now));
  plan_next(now);
  return resumed;
}

}  // namespace millrace::server
