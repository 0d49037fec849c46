#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <vector>

#include "base/text.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "http/routes/failure_group.hpp"
#include "http/routes/handlers.hpp"

/// Failures in groups (`failure_group`). One request looks at a slice of the failed jobs;
/// the client adds the groups of all slices together.
namespace millrace::http {
namespace {

/// How many queues are named with a group.
constexpr std::size_t kQueuesOfErrorMax = 50;
/// How much one request does, in jobs whose group is known. To make out a group takes as long as
/// some of them.
constexpr std::size_t kSteps = 3'000;
constexpr std::size_t kStepsOfUnknown = 6;
/// How much is shown of the message and the frame of a group.
constexpr std::size_t kGroupTextBytesMax = 300;

struct Group {
  std::string type;
  std::string message;
  std::string frame;
  std::array<std::uint64_t, kJobStateCount> counts{};  ///< by state
  Time first = kNever;
  Time last{};
  JobId sample = 0;
  std::set<QueueId> queues;

  [[nodiscard]] std::uint64_t count() const {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  }
};

using Groups = absl::flat_hash_map<std::uint64_t, Group>;

void add(const Job& job, Groups& groups) {
  const Failure* failure = job.failure();
  if (failure == nullptr) return;
  Group& group = groups[failure_group_number(*failure)];
  // The first job of a group gives it its words and a job to look at.
  if (group.sample == 0) {
    group.type = failure->errtype;
    group.message = cut(normalized_message(failure->message), kGroupTextBytesMax);
    group.frame = cut(normalized_frame(*failure), kGroupTextBytesMax);
    group.sample = job.id;
  }
  ++group.counts[static_cast<std::size_t>(job.state)];
  group.first = std::min(group.first, failure->failed_at);
  group.last = std::max(group.last, failure->failed_at);
  if (group.queues.size() < kQueuesOfErrorMax) group.queues.insert(job.queue);
}

Json show(const Groups& groups, const View& view) {
  const WallClock clock = view.wall_clock();
  std::vector<const Groups::value_type*> sorted;
  for (const Groups::value_type& each : groups) sorted.push_back(&each);
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* a, const auto* b) { return a->second.count() > b->second.count(); });
  Json all = Json::array();
  for (const auto* each : sorted) {
    const Group& group = each->second;
    Json queues = Json::array();
    for (const QueueId queue : group.queues) queues.push_back(view.queues().at(queue).name);
    all.push_back({{"group", hex(each->first)},
                   {"type", group.type},
                   {"message", group.message},
                   {"frame", text_or_null(group.frame)},
                   {"first_at", show_time(group.first, clock)},
                   {"last_at", show_time(group.last, clock)},
                   {"sample", group.sample},
                   {"queues", std::move(queues)}});
    for (std::size_t state = 0; state < kJobStateCount; ++state) {
      all.back()[http::name_of(static_cast<JobState>(state))] = group.counts[state];
    }
  }
  return all;
}

/// The jobs with a failure, one set after the other.
enum class Set { kRetrying, kDead, kBefore };

constexpr std::array<std::string_view, 3> kSetNames = {"retrying", "dead", "before"};

struct Place {
  Set set = Set::kRetrying;
  std::optional<ScanPlace> after;
};

/// cursor = name of a set [ ":" place in it ] ; without a place: from its beginning
std::optional<Place> parse_cursor(std::string_view cursor) {
  if (cursor.empty()) return Place{};
  const std::size_t colon = std::min(cursor.find(':'), cursor.size());
  const auto* name = std::find(kSetNames.begin(), kSetNames.end(), cursor.substr(0, colon));
  if (name == kSetNames.end()) return std::nullopt;
  Place place{.set = static_cast<Set>(name - kSetNames.begin()), .after = {}};
  if (colon == cursor.size()) return place;
  place.after = parse_place(cursor.substr(colon + 1));
  return place.after ? std::optional(place) : std::nullopt;
}

Json show_cursor(Set set, const std::optional<ScanPlace>& next) {
  const auto at = static_cast<std::size_t>(set);
  if (next) return concat(kSetNames[at], ":", show_place(*next));
  return at + 1 < kSetNames.size() ? Json(kSetNames[at + 1]) : Json(nullptr);
}

ScanEnd scan(const View& view, const Place& place, const JobsView::ScanVisitor& visit) {
  if (place.set == Set::kBefore) return view.jobs().scan_failed_before(place.after, kSteps, visit);
  // The latest of the dead first: people come to look at these.
  const bool is_dead = place.set == Set::kDead;
  const ScanOrder order{.state = is_dead ? JobState::kDead : JobState::kRetrying,
                        .is_backwards = is_dead};
  return view.jobs().scan(order, place.after, kSteps, visit);
}

}  // namespace

Response list_errors(const Call& call) {
  const std::optional<Place> place = parse_cursor(call.request.param("cursor"));
  if (!place) return refuse(400, kWrongCursor);
  const View& view = call.site.broker.view();
  Groups groups;
  std::size_t steps = 0;
  const ScanEnd end = scan(view, *place, [&](const Job& job) {
    const bool is_known = job.failure() == nullptr || job.failure()->group.number != 0;
    steps += is_known ? 1 : kStepsOfUnknown;
    add(job, groups);
    return steps < kSteps;
  });
  const std::uint64_t all = view.orders().count(JobState::kRetrying) +
                            view.orders().count(JobState::kDead) +
                            view.orders().failed_before().size();
  return {.body = dump({{"groups", show(groups, view)},
                        {"looked_at", end.jobs},
                        {"to_look_at", all},
                        {"next", show_cursor(place->set, end.next)}})};
}

}  // namespace millrace::http
