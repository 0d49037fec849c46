#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <set>

#include "http/handlers.hpp"
#include "http/input.hpp"
#include "http/job_filter.hpp"

/// Failures grouped by what they have in common. One request looks at a slice of the failed jobs;
/// who asks adds the groups of all slices together.
namespace millrace::http {
namespace {

/// Queues named with a group.
constexpr std::size_t kQueuesShownMax = 5;

struct Group {
  std::string type;
  std::string message;
  std::uint64_t retrying = 0;
  std::uint64_t dead = 0;
  Time first = kNever;
  Time last{};
  JobId sample = 0;
  std::set<std::string> queues;
};

using Groups = absl::flat_hash_map<std::string, Group>;

void add(const Job& job, const View& view, Groups& groups) {
  const Failure* failure = job.failure();
  if (failure == nullptr) return;
  Group& group = groups[failure_group(*failure)];
  if (group.sample == 0) {
    group.type = failure->errtype;
    group.message = cut(normalized_message(failure->message), 300);
    group.sample = job.id;
  }
  ++(job.state == JobState::kDead ? group.dead : group.retrying);
  group.first = std::min(group.first, failure->failed_at);
  group.last = std::max(group.last, failure->failed_at);
  if (group.queues.size() < kQueuesShownMax) group.queues.insert(view.queue_of(job).name);
}

Json show(const Groups& groups) {
  Json all = Json::array();
  for (const auto& [name, group] : groups) {
    all.push_back({{"group", name},
                   {"type", group.type},
                   {"message", group.message},
                   {"retrying", group.retrying},
                   {"dead", group.dead},
                   {"first_at", show_time(group.first)},
                   {"last_at", show_time(group.last)},
                   {"sample", group.sample},
                   {"queues", group.queues}});
  }
  std::sort(all.begin(), all.end(), [](const Json& a, const Json& b) {
    return a["retrying"].get<std::uint64_t>() + a["dead"].get<std::uint64_t>() >
           b["retrying"].get<std::uint64_t>() + b["dead"].get<std::uint64_t>();
  });
  return all;
}

}  // namespace

/// The cursor is `retrying` or `dead`, a colon, and a place in that order.
Response list_errors(const Call& call) {
  const std::string cursor(call.request.param("cursor"));
  const std::size_t colon = std::min(cursor.find(':'), cursor.size());
  const std::string set = cursor.empty() ? "retrying" : cursor.substr(0, colon);
  const auto state = parse_state(set);
  std::optional<ScanPlace> after;
  if (colon < cursor.size()) after = parse_place(std::string_view(cursor).substr(colon + 1));
  const bool is_good = state == JobState::kRetrying || state == JobState::kDead;
  if (!is_good || (colon < cursor.size() && !after)) {
    return refuse(400, "cursor is not one that a list gave");
  }
  const View& view = call.site.broker.view();
  Groups groups;
  // The latest of the dead first: they are what somebody comes for.
  const ScanOrder order{.state = *state, .is_backwards = *state == JobState::kDead};
  const ScanEnd end = view.scan(order, after, kSearchSteps, [&](const Job& job) {
    add(job, view, groups);
    return true;
  });
  Json next = nullptr;
  if (end.next) {
    next = set + ":" + show_place(*end.next);
  } else if (state == JobState::kRetrying) {
    next = "dead";
  }
  const std::uint64_t all = view.job_count(JobState::kRetrying) + view.job_count(JobState::kDead);
  return {.body = dump({{"groups", show(groups)},
                        {"looked_at", end.steps},
                        {"to_look_at", all},
                        {"next", std::move(next)}})};
}

}  // namespace millrace::http
