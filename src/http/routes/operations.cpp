#include <algorithm>
#include <string>
#include <utility>

#include "base/number.hpp"
#include "core/model/failure_group.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "http/routes/handlers.hpp"
#include "http/routes/job_filter.hpp"
#include "http/routes/job_view.hpp"
#include "http/routes/measures/failure_series.hpp"

/// Changes of all jobs that match a filter.
namespace millrace::http {
namespace {

Outcome<std::vector<JobState>> read_states(const Json& object) {
  const auto found = object.find("states");
  if (found == object.end() || !found->is_array() || found->empty()) {
    return Problem{"states is not an array of states"};
  }
  std::vector<JobState> states;
  for (const Json& name : *found) {
    const auto state = name.is_string() ? parse_state(name.get<std::string>()) : std::nullopt;
    if (!state) return Problem{"states has an entry that is not a state"};
    // They belong to their workers. One by one they can be taken away: see change_jobs.
    if (*state == JobState::kReserved) return Problem{"reserved jobs cannot be changed"};
    if (std::find(states.begin(), states.end(), *state) != states.end()) {
      return Problem{"states has an entry twice"};
    }
    states.push_back(*state);
  }
  return states;
}

/// Within how long jobs that are retried become ready.
Outcome<Duration> read_spread(const Json& members, Mutation::Action action,
                              const std::vector<JobState>& states) {
  const auto found = members.find("spread_s");
  if (found == members.end()) return Duration{};
  constexpr std::int64_t kDay = 86'400;
  if (!found->is_number_unsigned() || *found < 1 || *found > kDay) {
    return Problem{"spread_s is not a number from 1 to 86400"};
  }
  const bool is_of_failed = std::ranges::all_of(states, [](JobState state) {
    return state == JobState::kRetrying || state == JobState::kDead;
  });
  if (action != Mutation::Action::kRequeue || !is_of_failed) {
    return Problem{"spread_s is for the retry of retrying and dead jobs"};
  }
  return Duration{std::chrono::seconds(found->get<std::int64_t>())};
}

/// The error of a group in words; of one without jobs, its name.
std::string error_in_words(const std::string& name, const View& view) {
  constexpr std::size_t kBytesMax = 120;
  const auto* const group = view.orders().failures().find(parse_failure_group(name).value_or(0));
  if (group == nullptr) return name;
  const Failure& failure = *view.jobs().find_unread(group->sample())->failure();
  const std::string message(cut(normalized_message(failure.message), kBytesMax));
  const std::string type(cut(failure.errtype, kBytesMax));
  return message.empty() ? type : concat(type, ": ", message);
}

/// `delete retrying and dead jobs of mail with error "timeout"`. `is_of_all`: else the error is not
/// told in words, which may be those of other queues.
std::string title_of(const std::string& action, const std::vector<JobState>& states,
                     const JobFilter& filter, const View& view, bool is_of_all) {
  std::string title = action;
  for (const JobState& state : states) {
    const bool is_last = &state == &states.back();
    title += &state == &states.front() ? " " : is_last ? " and " : ", ";
    title += name_of(state);
  }
  title += " jobs";
  if (filter.queue) title += " of " + *filter.queue;
  JobFilter rest = filter;
  rest.queue.reset();
  if (rest.group)
    title += concat(" with \"", is_of_all ? error_in_words(*rest.group, view) : *rest.group, "\"");
  const bool has_group = std::exchange(rest.group, {}).has_value();
  if (!rest.is_empty()) title += concat(has_group ? ", " : " with ", describe(rest));
  return title;
}

/// Where Faktory workers could not fetch them, pushed jobs do not go.
JobMatcher only_put(JobMatcher matches) {
  return [matches = std::move(matches)](const Job& job, const Queue& queue, Steps& steps) {
    if (job.kind == JobKind::kWorkUnit) return Match::kNo;
    return matches ? matches(job, queue, steps) : Match::kYes;
  };
}

/// Of jobs of queues that the user has no right for: it changes none of them.
JobMatcher only_in(Scope scope, JobMatcher matches) {
  return [scope = std::move(scope), matches = std::move(matches)](
             const Job& job, const Queue& queue, Steps& steps) {
    if (!scope.has(queue.name)) return Match::kNo;
    return matches ? matches(job, queue, steps) : Match::kYes;
  };
}

/// Its own, and those of a queue that it has the right for.
bool is_seen(const BulkChanges::Progress& progress, const Scope& scope) {
  return scope.is_all() || progress.user == scope.user() ||
         (!progress.queue.empty() && scope.has(progress.queue));
}

/// Null: there is none that the user may see.
const BulkChanges::Progress* find_operation(const Call& call, const Scope& scope) {
  const auto id = parse_number<std::uint64_t>(call.name);
  const BulkChanges::Progress* const found = id ? call.site.bulks.find(*id) : nullptr;
  return found != nullptr && is_seen(*found, scope) ? found : nullptr;
}

/// How many jobs it has looked at, and how many there are. Who may not see all of these is told in
/// hundredths.
std::pair<std::uint64_t, std::uint64_t> way_of(const BulkChanges::Progress& progress,
                                               const access::Caller& caller) {
  const std::uint64_t all = std::max(progress.to_look_at, progress.looked_at);
  constexpr auto kView = access::Right::kView;
  if (progress.queue.empty() ? caller.may_everywhere(kView) : caller.may(kView, progress.queue)) {
    return {progress.looked_at, all};
  }
  return {all == 0 ? 0 : progress.looked_at * 100 / all, 100};
}

Json show_progress(const Call& call, const BulkChanges::Progress& progress) {
  const WallClock clock = call.site.broker.view().wall_clock();
  const auto [looked_at, to_look_at] = way_of(progress, call.request.caller);
  const auto name = [](BulkChanges::Phase phase) {
    switch (phase) {
      case BulkChanges::Phase::kRunning:
        return "running";
      case BulkChanges::Phase::kDone:
        return "done";
      case BulkChanges::Phase::kCancelled:
        return "cancelled";
    }
    return "";
  };
  return {{"id", progress.id},
          {"title", progress.title},
          {"phase", name(progress.phase)},
          {"looked_at", looked_at},
          {"to_look_at", to_look_at},
          {"changed", progress.changed},
          {"started_at", show_time(progress.started_at, clock)},
          {"ended_at", show_time(progress.ended_at, clock)}};
}

std::string show_one(const Call& call, const BulkChanges::Progress& progress) {
  return dump(show_progress(call, progress));
}

Response say_unknown() {
  return refuse(404, "no such operation: only the last ones are remembered");
}

}  // namespace

std::string show_as_of(const View& view, Time now) {
  // The page sends it back with a change: jobs that came later are not meant.
  // Its time is the steady time, which no step of the wall clock makes wrong.
  return concat(view.counters().next_id, ".", now.time_since_epoch().count());
}

Outcome<BulkChanges::Bounds> read_bounds(const Json& members) {
  BulkChanges::Bounds bounds;
  if (const auto found = members.find("as_of"); found != members.end()) {
    const std::string text = read_text(members, "as_of");
    const std::size_t dot = std::min(text.find('.'), text.size());
    const auto id_end = parse_number<JobId>(text.substr(0, dot));
    const auto at = parse_number<Time::rep>(text.substr(std::min(dot + 1, text.size())));
    if (!id_end || !at) return Problem{"as_of is not what X-As-Of said"};
    bounds.id_end = *id_end;
    bounds.counted_at = Time{Duration{*at}};
  }
  if (const auto found = members.find("at_most"); found != members.end()) {
    if (!found->is_number_unsigned()) return Problem{"at_most is not a number"};
    bounds.changes_max = found->get<std::uint64_t>();
  }
  return bounds;
}

Response begin_operation(const Call& call, BulkChanges::Request request) {
  request.user = call.request.caller.name();
  const auto id = call.site.bulks.start(std::move(request), call.moment.now);
  // Each takes a slice of every turn, and keeps its filter.
  if (!id) return refuse(429, "too many operations are running: wait for one, or cancel it");
  return {.status = 202, .body = show_one(call, *call.site.bulks.find(*id)), .is_change = true};
}

Response start_operation(const Call& call, const Scope& scope) {
  const Json& members = call.request.members;
  const std::string name = read_text(members, "action");
  const auto action = parse_action(name);
  if (!action) return refuse(400, "action is not retry, kill, move or delete");
  const auto states = read_states(members);
  if (!states) return refuse(400, states.error().text);
  const Outcome<JobFilter> filter = read_filter(members);
  if (!filter) return refuse(400, filter.error().text);
  const Outcome<BulkChanges::Bounds> bounds = read_bounds(members);
  if (!bounds) return refuse(400, bounds.error().text);
  const Outcome<Duration> spread = read_spread(members, *action, *states);
  if (!spread) return refuse(400, spread.error().text);
  const Outcome<std::string> to = read_to(members, *action, call.site);
  if (!to) return refuse(400, to.error().text);
  // Ages are those at the time of the count: so they mean the jobs that were counted.
  const Time now = std::min(call.moment.now, bounds->counted_at);
  const std::string queue = queue_of(*filter);
  if (!queue.empty() && !scope.has(queue)) return scope.refuse_for(queue);
  JobFilter rest = *filter;
  if (!queue.empty()) rest.queue.reset();
  rest.bid.reset();
  // Jobs are spread by how many were changed of how many there are: of a queue, a batch or a group
  // of failures that number is known.
  JobFilter unknown = rest;
  if (queue.empty() && !filter->bid) unknown.group.reset();
  const bool is_cut = queue.empty() && !scope.is_all();
  const bool is_number_known = !is_cut && unknown.is_empty() && (queue.empty() || !filter->bid);
  if (*spread != Duration{} && !is_number_known && !members.contains("at_most")) {
    return refuse(400, "spread_s with this filter requires at_most, the number of jobs that match");
  }
  JobMatcher matches = make_matcher(rest, body_reading(call.site), now);
  if (is_cut) matches = only_in(scope, std::move(matches));
  std::string target = to->empty() ? "" : " to " + *to;
  if (!to->empty() && !call.site.is_queue_name(*to, JobKind::kWorkUnit)) {
    matches = only_put(std::move(matches));
    target += ", which Faktory clients cannot name: pushed jobs stay";
  }
  if (*spread != Duration{}) {
    target += concat(" over ", std::chrono::round<std::chrono::seconds>(*spread).count(), " s");
  }
  return begin_operation(
      call, {.states = *states,
             .queue = queue,
             .batch = batch_of(*filter),
             .group = group_of(*filter),
             .action = *action,
             .to = *to,
             .spread = *spread,
             .matches = std::move(matches),
             .bounds = *bounds,
             .title = title_of(name, *states, *filter, call.site.broker.view(), scope.is_all()) +
                      target});
}

Response list_operations(const Call& call, const Scope& scope) {
  Json all = Json::array();
  for (const auto& progress : call.site.bulks.list()) {
    if (is_seen(progress, scope)) all.push_back(show_progress(call, progress));
  }
  return {.body = dump({{"operations", std::move(all)}})};
}

Response show_operation(const Call& call, const Scope& scope) {
  const BulkChanges::Progress* const progress = find_operation(call, scope);
  if (progress == nullptr) return say_unknown();
  return {.body = show_one(call, *progress)};
}

Response cancel_operation(const Call& call, const Scope& scope) {
  const BulkChanges::Progress* const progress = find_operation(call, scope);
  if (progress == nullptr) return say_unknown();
  const std::uint64_t id = progress->id;
  if (!call.site.bulks.cancel(id, call.moment.now)) {
    return refuse(409, "this operation has ended already");
  }
  return {.body = show_one(call, *call.site.bulks.find(id)), .is_change = true};
}

}  // namespace millrace::http
