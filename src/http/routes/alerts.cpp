#include "http/routes/alerts.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "http/kit/text.hpp"
#include "http/routes/queue_view.hpp"

namespace millrace::http {
namespace {

using Kind = AlertCondition::Kind;

/// Bytes of a summary: PagerDuty takes 1,024 characters.
constexpr std::size_t kSummaryBytesMax = 1000;

Time::rep number_of(Time time) {
  return time.time_since_epoch().count();
}

Time time_of(const Json& number) {
  return Time{Duration{number.get<Time::rep>()}};
}

/// What is to be told, in all forms.
struct Telling {
  const AlertRule& rule;
  std::string condition;
  bool is_firing = false;
  std::string id;
  std::string server;
  std::string text;
  Json since;
  Json at;
  const std::vector<Concern>& found;

  [[nodiscard]] bool is_trouble() const {
    return std::ranges::any_of(
        found, [](const Concern& each) { return each.level == Concern::Level::kTrouble; });
  }
};

Json json_of(const Telling& telling) {
  Json items = Json::array();
  for (const Concern& each : telling.found) {
    items.push_back({{"queue", text_or_null(each.queue)},
                     {"wid", text_or_null(each.wid)},
                     {"text", each.text}});
  }
  return {{"id", telling.id},
          {"status", telling.is_firing ? "firing" : "resolved"},
          {"alert", telling.rule.name},
          {"condition", telling.condition},
          {"level", telling.found.empty()  ? Json(nullptr)
                    : telling.is_trouble() ? "trouble"
                                           : "notice"},
          {"text", telling.text},
          {"items", std::move(items)},
          {"since", telling.since},
          {"at", telling.at},
          {"server", telling.server}};
}

/// https://docs.slack.dev/messaging/formatting-message-text: only these three are to be escaped.
std::string slack_text(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') escaped += "&amp;";
    if (c == '<') escaped += "&lt;";
    if (c == '>') escaped += "&gt;";
    if (c != '&' && c != '<' && c != '>') escaped += c;
  }
  return escaped;
}

Json slack_of(const Telling& telling) {
  return {
      {"text", slack_text(concat(telling.is_firing ? "*Firing* " : "*Resolved* ", telling.rule.name,
                                 " on ", telling.server, ": ", telling.text))}};
}

/// https://developer.pagerduty.com/docs/send-alert-event
Json pager_duty_of(const Telling& telling) {
  Fnv1a key;
  for (const std::string* part : {&telling.server, &telling.rule.name, &telling.condition}) {
    key.add(*part);
    key.add('\0');
  }
  Json event = {{"routing_key", telling.rule.routing_key},
                {"event_action", telling.is_firing ? "trigger" : "resolve"},
                {"dedup_key", concat("millrace-", hex(key.value()))}};
  if (telling.is_firing) {
    event["payload"] = {{"summary", telling.text},
                        {"source", telling.server},
                        {"severity", telling.is_trouble() ? "error" : "warning"},
                        {"timestamp", telling.since},
                        {"component", telling.rule.name},
                        {"class", telling.condition}};
  }
  return event;
}

std::string body_of(const Telling& telling) {
  switch (telling.rule.form) {
    case AlertRule::Form::kJson:
      return dump(json_of(telling));
    case AlertRule::Form::kSlack:
      return dump(slack_of(telling));
    case AlertRule::Form::kPagerDuty:
      return dump(pager_duty_of(telling));
  }
  return {};
}

const std::string& name_of(const AlertRule& rule, std::size_t condition) {
  static const std::string test = kTestCondition;
  return condition < rule.conditions.size() ? rule.conditions[condition].text : test;
}

}  // namespace

// ---- rounds -------------------------------------------------------------------------------------

/// The first of it, and how much more there is.
std::string Alerts::summary_of(const Found& found) {
  std::string text;
  for (const Concern& each : found.worst) {
    text += concat(text.empty() ? "" : "; ", sentence_of(each));
  }
  if (found.count > found.worst.size()) {
    text += concat("; and ", found.count - found.worst.size(), " more");
  }
  return std::string(cut(text, kSummaryBytesMax));
}

void Alerts::set(std::vector<AlertRule> rules) {
  std::vector<Alert> before = std::exchange(alerts_, {});
  inspection_.reset();
  outbox_.clear();
  conditions_ = 0;
  for (AlertRule& rule : rules) {
    const auto old = std::ranges::find(
        before, rule.name, [](const Alert& a) -> const std::string& { return a.rule.name; });
    Alert alert{.rule = std::move(rule)};
    alert.states.resize(alert.rule.conditions.size() + 1);
    if (old != before.end()) {
      alert.silenced_until = old->silenced_until;
      for (std::size_t i = 0; i < alert.states.size(); ++i) {
        for (std::size_t j = 0; j < old->states.size(); ++j) {
          if (name_of(alert.rule, i) != name_of(old->rule, j)) continue;
          // What was on its way is sent anew.
          State& state = alert.states[i] = std::move(old->states[j]);
          if (std::exchange(state.is_sending, false)) state.next_at = {};
          state.next = {};
        }
      }
    }
    conditions_ += alert.rule.conditions.size();
    alerts_.push_back(std::move(alert));
  }
  next_ = {};
}

void Alerts::take_over(Time now, bool was_standby) {
  took_over_at_ = now;
  for (Alert& alert : alerts_) {
    for (std::size_t i = 0; i < alert.rule.conditions.size(); ++i) {
      State& state = alert.states[i];
      const bool is_of_this = alert.rule.conditions[i].kind == Kind::kTakeover;
      // An earlier takeover was another event.
      if (is_of_this) state.is_told = state.holds = false;
      if (is_of_this || was_standby) state.next_at = {};
    }
  }
}

void Alerts::work(const Site& site, const SystemFacts& system, Time now) {
  if (now < next_due()) return;
  // What the system looks like is known a moment after the start. Without a lease, another server
  // may lead.
  if (next_ == Time{} || !site.traffic().leadership.may_answer) {
    next_ = now + kInterval;
    return;
  }
  if (!inspection_) inspection_.emplace();
  next_ = now + kTurnPause;
  const auto also = [&](const QueueFigures& figures) { look_at(figures, now); };
  const std::size_t queues = std::max(kLooksATurn / (conditions_ + 1), std::size_t{1});
  if (!inspection_->look_at_queues(site, now, also, queues)) return;
  conclude(inspection_->conclude(site, {.now = now, .system = system}), site, now);
  inspection_.reset();
  next_ = now + kInterval;
}

/// Patterns are compared last, since few queues have anything to tell of.
void Alerts::look_at(const QueueFigures& figures, Time now) {
  const bool has_no_worker = is_abandoned(figures, now);
  const std::string& queue = figures.queue->name;
  for (Alert& alert : alerts_) {
    for (std::size_t i = 0; i < alert.rule.conditions.size(); ++i) {
      const AlertCondition& condition = alert.rule.conditions[i];
      const bool is_late = condition.kind == Kind::kLatency && figures.oldest != kNever &&
                           now - figures.oldest > condition.span;
      const bool is_abandoned = has_no_worker && condition.concern == "abandoned";
      const bool is_paused = figures.is_paused && condition.concern == "paused";
      if (!is_late && !is_abandoned && !is_paused) continue;
      if (condition.has_queue && !condition.has_queue(queue)) continue;
      alert.states[i].next.add([&] {
        const Backlog backlog{.queue = queue, .jobs = figures.ready};
        return is_abandoned ? show_abandoned(backlog)
               : is_paused  ? show_paused(backlog)
                            : show_late(queue, now - figures.oldest);
      });
    }
  }
}

void Alerts::look_at_dead(const AlertCondition& condition, State& state, std::uint64_t dead,
                          Time now) {
  // A test makes a round of its own.
  const bool is_due = state.dead.empty() || now - state.dead.back().first >= kInterval / 2;
  if (is_due) {
    state.dead.emplace_back(now, dead);
    while (now - state.dead.front().first > condition.span) state.dead.pop_front();
  }
  const std::uint64_t least = std::ranges::min_element(state.dead, {}, [](const auto& each) {
                                return each.second;
                              })->second;
  const std::uint64_t more = dead - std::min(dead, least);
  if (more < condition.dead) return;
  state.next.add([=] {
    return Concern{.level = Concern::Level::kTrouble,
                   .kind = "dead",
                   .text = concat("The dead set grew by ", count_of(more, "job"))};
  });
}

void Alerts::conclude(const Situation& situation, const Site& site, Time now) {
  const std::uint64_t dead = site.broker.view().orders().count(JobState::kDead);
  const std::string node = site.traffic().leadership.node;
  const bool has_taken_over =
      !node.empty() && took_over_at_ && now - *took_over_at_ < kTakeoverSpan;
  for (std::size_t a = 0; a < alerts_.size(); ++a) {
    const auto& conditions = alerts_[a].rule.conditions;
    for (std::size_t i = 0; i < conditions.size(); ++i) {
      const AlertCondition& condition = conditions[i];
      State& state = alerts_[a].states[i];
      if (condition.kind == Kind::kDead) look_at_dead(condition, state, dead, now);
      if (condition.kind == Kind::kTakeover && has_taken_over) {
        state.next.add([&] {
          return Concern{.kind = "takeover", .text = concat(node, " leads the log now")};
        });
      }
      for (const Concern& each : situation.concerns) {
        const bool is_of_queue = each.kind == "abandoned" || each.kind == "paused";
        if (each.kind == condition.concern && !is_of_queue) state.next.add([&] { return each; });
      }
      state.found = std::exchange(state.next, {});
      step({a, i}, site, now);
    }
    step({a, conditions.size()}, site, now);
  }
}

// ---- messages -----------------------------------------------------------------------------------

void Alerts::step(AlertPlace place, const Site& site, Time now) {
  Alert& alert = alerts_[place.alert];
  State& state = alert.states[place.condition];
  const bool is_test = place.condition == alert.rule.conditions.size();
  const bool holds = state.found.count > 0;
  if (std::exchange(state.holds, holds) != holds) state.since = now;
  if (state.is_sending || now < state.not_before) return;
  if (!is_test && now < alert.silenced_until) return;
  const bool is_event = is_test || alert.rule.conditions[place.condition].kind == Kind::kTakeover;
  if (!is_event && now - state.since < alert.rule.hold) return;
  if (holds ? now < state.next_at : !state.is_told) {
    if (!holds) state.next_at = {};
    return;
  }
  if (holds) {
    if (!state.is_told) state.told_since = state.since;
    state.told = summary_of(state.found);
    state.next_at = alert.rule.repeat > Duration{} ? now + alert.rule.repeat : kNever;
  }
  state.is_sending = true;
  const WallClock clock = site.broker.view().wall_clock();
  const ServerFacts& facts = site.facts;
  outbox_.push_back({.place = place,
                     .is_firing = holds,
                     .body = body_of({.rule = alert.rule,
                                      .condition = name_of(alert.rule, place.condition),
                                      .is_firing = holds,
                                      .id = concat(facts.instance, "-", ++messages_),
                                      .server = facts.name.empty() ? facts.hostname : facts.name,
                                      .text = state.told,
                                      .since = show_time(state.told_since, clock),
                                      .at = show_time(now, clock),
                                      .found = state.found.worst})});
}

void Alerts::note(const AlertResult& result, Activity& activity, Time now) {
  Alert& alert = alerts_.at(result.place.alert);
  State& state = alert.states.at(result.place.condition);
  const bool is_test = result.place.condition == alert.rule.conditions.size();
  const bool was_delivered = result.problem.empty();
  state.is_sending = false;
  // Otherwise it is told after a while, if it is still so.
  if (was_delivered) state.is_told = result.is_firing;
  if (!was_delivered || !result.is_firing) state.next_at = {};
  state.not_before = was_delivered ? Time{} : now + kFailurePause;
  if (is_test) state.found = {};
  if (is_test) next_ = now;
  alert.last = result;
  alert.last_at = now;
  ++(was_delivered ? sent_ : failed_);
  const char* const what = result.is_firing ? "fired" : "resolved";
  const std::string tried =
      concat(what, ", could not be sent; tries: ", result.tries, "; ", result.problem);
  activity.note({.at = now,
                 .protocol = "alert",
                 .from = {},
                 .client = "this server",
                 .action = concat("alerts/", was_delivered ? what : "failed"),
                 .target = alert.rule.name,
                 .details = concat(name_of(alert.rule, result.place.condition), ": ",
                                   was_delivered ? state.told : tried)});
}

// ---- for people ---------------------------------------------------------------------------------

Alerts::Alert* Alerts::find(std::string_view name) {
  const auto found =
      std::ranges::find_if(alerts_, [=](const Alert& alert) { return alert.rule.name == name; });
  return found == alerts_.end() ? nullptr : &*found;
}

bool Alerts::silence(std::string_view name, Time until) {
  Alert* const alert = find(name);
  if (alert != nullptr) alert->silenced_until = until;
  return alert != nullptr;
}

bool Alerts::test(std::string_view name, Time now) {
  Alert* const alert = find(name);
  if (alert == nullptr) return false;
  State& state = alert->states.back();
  state.found = {.worst = {{.kind = kTestCondition, .text = "This is a test"}}, .count = 1};
  state.not_before = {};
  next_ = now;
  return true;
}

Json Alerts::show(const Alert& alert, WallClock clock) {
  constexpr const char* kForms[] = {"json", "slack", "pagerduty"};
  Json conditions = Json::array();
  for (std::size_t i = 0; i < alert.rule.conditions.size(); ++i) {
    const State& state = alert.states[i];
    // One that could not be told to the receiver fires as well.
    const bool is_tried = state.holds && (state.is_sending || state.not_before != Time{});
    const bool is_firing = state.is_told || is_tried;
    const Time since = state.is_told ? state.told_since : state.since;
    conditions.push_back(
        {{"condition", name_of(alert.rule, i)},
         {"state", is_firing     ? "firing"
                   : state.holds ? "pending"
                                 : "ok"},
         {"is_delivered", state.is_told},
         {"since", is_firing || state.holds ? show_time(since, clock) : Json(nullptr)},
         {"text", text_or_null(state.holds ? summary_of(state.found)
                               : is_firing ? state.told
                                           : "")}});
  }
  Json last = nullptr;
  if (alert.last_at != Time{}) {
    last = {{"at", show_time(alert.last_at, clock)},
            {"condition", name_of(alert.rule, alert.last.place.condition)},
            {"status", alert.last.is_firing ? "firing" : "resolved"},
            {"problem", text_or_null(alert.last.problem)}};
  }
  return {{"name", alert.rule.name},
          {"form", kForms[static_cast<std::size_t>(alert.rule.form)]},
          {"receiver", alert.rule.receiver},
          {"for_s", seconds_of(alert.rule.hold)},
          {"repeat_s", seconds_of(alert.rule.repeat)},
          {"silenced_until", show_time(alert.silenced_until, clock)},
          {"conditions", std::move(conditions)},
          {"last", std::move(last)}};
}

Json Alerts::show(WallClock clock) const {
  Json all = Json::array();
  for (const Alert& alert : alerts_) all.push_back(show(alert, clock));
  return {{"alerts", std::move(all)}, {"sent", sent_}, {"failed", failed_}};
}

// ---- beyond the process -------------------------------------------------------------------------

Json Alerts::save() const {
  Json all = Json::array();
  for (const Alert& alert : alerts_) {
    Json told = Json::array();
    for (std::size_t i = 0; i < alert.rule.conditions.size(); ++i) {
      const State& state = alert.states[i];
      if (!state.is_told) continue;
      told.push_back({{"condition", name_of(alert.rule, i)},
                      {"since", number_of(state.told_since)},
                      {"next_at", number_of(state.next_at)},
                      {"text", state.told}});
    }
    all.push_back({{"name", alert.rule.name},
                   {"silenced_until", number_of(alert.silenced_until)},
                   {"told", std::move(told)}});
  }
  return all;
}

void Alerts::restore(const Json& saved) {
  std::vector<Alert> all = alerts_;
  for (Alert& alert : all) {
    for (const Json& each : saved) {
      if (each.at("name") != alert.rule.name) continue;
      alert.silenced_until = time_of(each.at("silenced_until"));
      for (const Json& told : each.at("told")) {
        for (std::size_t i = 0; i < alert.rule.conditions.size(); ++i) {
          if (told.at("condition") != name_of(alert.rule, i)) continue;
          State& state = alert.states[i];
          state.is_told = state.holds = true;
          state.since = state.told_since = time_of(told.at("since"));
          state.next_at = time_of(told.at("next_at"));
          state.told = told.at("text");
        }
      }
    }
  }
  alerts_ = std::move(all);
}

}  // namespace millrace::http
