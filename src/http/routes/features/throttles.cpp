#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/number.hpp"
#include "base/text.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "http/routes/features/throttle_view.hpp"
#include "http/routes/handlers.hpp"
#include "http/routes/scope.hpp"

/// The limits of queues and types: those in force, those of the config files, and those that
/// operators set.
namespace millrace::http {
namespace {

struct LimitMember {
  const char* name;
  std::uint32_t ThrottleLimits::*value;
  std::uint32_t max;
};

/// How much of a name a refusal repeats.
constexpr std::size_t kNameShownBytes = 100;

constexpr std::array kLimitMembers = {
    LimitMember{"concurrency", &ThrottleLimits::concurrency, kThrottleSlotsMax},
    LimitMember{"worker", &ThrottleLimits::worker, kThrottleSlotsMax},
    LimitMember{"per_key", &ThrottleLimits::per_key, kThrottleSlotsMax},
    LimitMember{"timeout_s", &ThrottleLimits::timeout_s, kThrottleSecondsMax},
    LimitMember{"rate_count", &ThrottleLimits::rate_count, kThrottleRateMax},
    LimitMember{"rate_s", &ThrottleLimits::rate_s, kThrottleSecondsMax},
};

/// A member that is null or not there is a limit that is not wanted.
Outcome<ThrottleLimits> read_limits(const Json& members) {
  ThrottleLimits limits;
  for (const LimitMember& each : kLimitMembers) {
    const auto found = members.find(each.name);
    if (found == members.end() || found->is_null()) continue;
    if (!found->is_number_unsigned() || *found < 1 || *found > each.max) {
      return Problem{concat(each.name, " is not a whole number from 1 to ", each.max)};
    }
    limits.*(each.value) = found->get<std::uint32_t>();
  }
  if (limits.has_slots() && limits.timeout_s == 0) {
    return Problem{
        "concurrency, worker and per_key need timeout_s: a job that runs for longer counts no "
        "more"};
  }
  if (!limits.has_slots() && limits.timeout_s != 0) {
    return Problem{"timeout_s needs concurrency, worker or per_key"};
  }
  if (!is_valid(limits)) return Problem{"rate_count and rate_s need each other"};
  return limits;
}

/// Without limits and a queue there is only a bucket that fills up.
bool is_shown(const Throttle& throttle) {
  return throttle.by_hand || throttle.queue || throttle.limits.has_any();
}

const Throttle* find_throttle(const Call& call) {
  const Throttle* const found = call.site.broker.view().throttles().table().find(call.name);
  return found != nullptr && is_shown(*found) ? found : nullptr;
}

/// Of a queue or a type that a rule limits, and of which nothing runs or waits.
Json show_unused(std::string_view name, const ThrottleRule& rule, const Call& call) {
  Throttle unused;
  unused.name = name;
  unused.is_type = is_type_name(name);
  unused.limits = rule.limits;
  return show_throttle(unused, call.site.broker.view(), call.moment.now);
}

/// The rules that name one queue, where that has no limits in force. Types that a rule names have.
std::vector<const ThrottleRule*> unused_rules(const View& view) {
  std::vector<const ThrottleRule*> unused;
  for (const ThrottleRule& each : view.throttles().rules().list) {
    // A name with a wildcard is a pattern, and no name is another one's pattern.
    const ThrottleRule* const rule = view.throttles().rules().rule_of(each.pattern);
    if (is_type_name(each.pattern) || rule == nullptr || rule->pattern != each.pattern) continue;
    if (is_pattern(each.pattern)) continue;
    const Throttle* const throttle = view.throttles().table().find(each.pattern);
    if (throttle == nullptr || !is_shown(*throttle)) unused.push_back(&each);
  }
  return unused;
}

/// As it is said of a name in a config file.
Response refuse_name(std::string_view queue) {
  return refuse(400, concat("no queue can have the name \"", cut(queue, kNameShownBytes), "\""));
}

/// A pattern of types works in a config file. Here it would limit one type of that very name.
bool is_pattern_of_types(std::string_view name) {
  return is_type_name(name) && name.find_first_of("*?[") != name.npos;
}

/// "concurrency 3, timeout_s 60", in the terms of config files.
std::string in_words(const ThrottleLimits& limits) {
  std::string words;
  for (const LimitMember& each : kLimitMembers) {
    const std::uint32_t value = limits.*(each.value);
    if (value != 0) words += concat(words.empty() ? "" : ", ", each.name, " ", value);
  }
  return words.empty() ? "no limits" : words;
}

/// Those of the queue or the type, by hand or by the config files.
std::string limits_now(const Call& call) {
  const auto& throttles = call.site.broker.view().throttles();
  const Throttle* const throttle = throttles.table().find(call.name);
  if (throttle != nullptr && throttle->by_hand) return in_words(*throttle->by_hand);
  const ThrottleRule* const rule = throttles.rules().rule_of(call.name);
  return rule == nullptr ? "no limits" : in_words(rule->limits);
}

Response say_unlimited() {
  return refuse(404, "nothing limits this queue or type");
}

}  // namespace

/// Those of queues in the scope; of types where it has all queues.
Response list_throttles(const Call& call, const Scope& scope) {
  const Outcome<std::size_t> limit = read_limit(call.request);
  if (!limit) return refuse(400, limit.error().text);
  const View& view = call.site.broker.view();
  const std::string_view cursor = call.request.param("cursor");
  std::map<std::string, Json> rows;
  std::size_t seen = 0;
  std::string last;
  view.throttles().table().page(cursor, *limit, [&](const Throttle& throttle) {
    ++seen;
    last = throttle.name;
    const bool is_in_scope = scope.is_all() || (!throttle.is_type && scope.has(throttle.name));
    if (!is_in_scope || !is_shown(throttle)) return;
    rows[last] = show_throttle(throttle, view, call.moment.now);
  });
  const bool is_end = seen < *limit;
  const std::vector<const ThrottleRule*> unused = unused_rules(view);
  for (const ThrottleRule* rule : unused) {
    const std::string& name = rule->pattern;
    if (!scope.has(name)) continue;
    if (name > cursor && (is_end || name <= last)) rows[name] = show_unused(name, *rule, call);
  }
  std::string next = is_end ? "" : last;
  while (rows.size() > *limit) {
    rows.erase(std::prev(rows.end()));
    next = rows.rbegin()->first;
  }
  const Json total =
      scope.is_all() ? Json(view.throttles().table().by_name().size() + unused.size()) : nullptr;
  Json throttles = Json::array();
  for (auto& [name, row] : rows) throttles.push_back(std::move(row));
  return {.body = dump({{"throttles", std::move(throttles)},
                        {"total", total},
                        {"next", next.empty() ? Json(nullptr) : Json(next)}})};
}

Response list_throttle_rules(const Call& call) {
  const Outcome<std::size_t> limit = read_limit(call.request);
  if (!limit) return refuse(400, limit.error().text);
  const std::string_view cursor = call.request.param("cursor");
  const auto place =
      cursor.empty() ? std::optional<std::size_t>(0) : parse_number<std::size_t>(cursor);
  if (!place) return refuse(400, kWrongCursor);
  const std::vector<ThrottleRule>& all = call.site.broker.view().throttles().rules().list;
  Json rules = Json::array();
  std::size_t next = std::min(*place, all.size());
  for (; next < all.size() && rules.size() < *limit; ++next) rules.push_back(show_rule(all[next]));
  return {.body = dump({{"rules", std::move(rules)},
                        {"total", all.size()},
                        {"next", next < all.size() ? Json(std::to_string(next)) : nullptr}})};
}

Response show_throttle_of(const Call& call) {
  const View& view = call.site.broker.view();
  if (const Throttle* const throttle = find_throttle(call)) {
    return {.body = dump(show_throttle(*throttle, view, call.moment.now))};
  }
  const ThrottleRule* const rule = view.throttles().rules().rule_of(call.name);
  if (rule == nullptr) return say_unlimited();
  return {.body = dump(show_unused(call.name, *rule, call))};
}

Response set_throttle(const Call& call) {
  const Outcome<ThrottleLimits> limits = read_limits(call.request.members);
  if (!limits) return refuse(400, limits.error().text);
  const bool is_too_long = call.name.size() > kQueueNameBytesMax;
  // Limits of a queue that cannot be would limit nothing, and nobody would notice.
  const bool is_possible =
      is_type_name(call.name) || call.site.is_queue_name(call.name, JobKind::kBytes);
  if (!is_too_long && !is_possible) return refuse_name(call.name);
  // It could not be named in a list.
  if (!is_utf8(call.name)) return refuse(400, "a jobtype is UTF-8");
  if (call.name == kTypePrefix || is_pattern_of_types(call.name)) {
    return refuse(400, "after type: comes one jobtype; patterns are for config files");
  }
  if (!can_have(call.name, *limits)) {
    return refuse(400, "worker and per_key limit queues, not types");
  }
  const std::string before = limits_now(call);
  const Answer<Done> set =
      call.site.broker.admin().set_throttle(call.name, *limits, call.moment.now);
  if (!set && set.error() == Refusal::kNoRoom) return refuse_for_room();
  if (!set && set.error() == Refusal::kNameTooLong) {
    return refuse(400, concat("a name has at most ", kQueueNameBytesMax, " bytes"));
  }
  if (!set) {
    return refuse(409,
                  concat("limits of ", kThrottlesByHandMax,
                         " queues and types were set by hand, and no more can be: reset some"));
  }
  const Throttle* const throttle = call.site.broker.view().throttles().table().find(call.name);
  return {.body = dump(show_throttle(*throttle, call.site.broker.view(), call.moment.now)),
          .is_change = true,
          .changed = concat(before, " → ", in_words(*limits))};
}

Response reset_throttle(const Call& call) {
  const std::string before = limits_now(call);
  if (!call.site.broker.admin().remove_throttle(call.name, call.moment.now)) {
    return refuse(404, "no limits of this queue or type were set by hand");
  }
  return {.body = dump({{"queue", call.name}}),
          .is_change = true,
          .changed = concat(before, " → ", limits_now(call))};
}

}  // namespace millrace::http
