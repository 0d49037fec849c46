#include <algorithm>
#include <charconv>
#include <vector>

#include "base/text.hpp"
#include "core/model/failure_group.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "http/routes/handlers.hpp"
#include "http/routes/job_filter.hpp"

/// Failures in groups (`FailureGroups`), those with the most jobs first; and then what has occurred
/// lately, and no job has any more.
namespace millrace::http {
namespace {

/// How much is said of a group.
constexpr std::size_t kQueuesOfErrorMax = 50;
constexpr std::size_t kTypesOfErrorMax = 10;
/// Of a group in more queues, so many are compared with the beginning of a name.
constexpr std::size_t kQueuesReadMax = 1'000;
constexpr std::size_t kTextBytesMax = 300;
/// The types of a group are those of so many of its jobs, the newest of each state.
constexpr std::size_t kJobsReadMax = 20;
constexpr std::size_t kHours = 24;

/// What an answer may cost, in steps of about a tenth of a microsecond, and what its parts do: to
/// pass a group or one of its queues, to read the type of a job, to make out the message of a
/// group, and to show it.
constexpr std::size_t kStepsMax = 8'000;
constexpr std::size_t kGroupSteps = 1;
constexpr std::size_t kJobSteps = 4;
constexpr std::size_t kMessageSteps = 25;
constexpr std::size_t kShowSteps = 80;
/// So many bytes of a backtrace, or of the type of a job, cost one step.
constexpr std::size_t kBytesAStep = 24;

struct ErrorSearch {
  std::optional<FailureGroups::Place> after;
  std::string_view match;  ///< in the type, message, frame, queues or job types; empty: any
  std::string_view queue;  ///< as `is_wanted` takes it; empty: any
  std::string_view type;   ///< of jobs; the same
  std::size_t limit = kPageDefault;
};

/// size "-" group
std::string show_cursor(const FailureGroups::Place& place) {
  return concat(place.size, "-", hex(place.group));
}

std::optional<FailureGroups::Place> parse_cursor(std::string_view cursor) {
  FailureGroups::Place place{};
  const char* const end = cursor.data() + cursor.size();
  const auto size = std::from_chars(cursor.data(), end, place.size);
  if (size.ec != std::errc{} || size.ptr == end || *size.ptr != '-') return std::nullopt;
  const auto group = parse_failure_group({size.ptr + 1, end});
  if (!group) return std::nullopt;
  place.group = *group;
  return place;
}

Outcome<ErrorSearch> read_error_search(const Request& request) {
  ErrorSearch search;
  const auto limit = read_limit(request);
  if (!limit) return limit.error();
  search.limit = *limit;
  const std::string_view cursor = request.param("cursor");
  if (!cursor.empty() && !(search.after = parse_cursor(cursor))) return Problem{kWrongCursor};
  for (const auto& [name, member] : {std::pair{"match", &ErrorSearch::match},
                                     {"queue", &ErrorSearch::queue},
                                     {"type", &ErrorSearch::type}}) {
    search.*member = request.param(name);
    if (const auto problem = check_filter_text(name, search.*member)) return *problem;
  }
  return search;
}

/// The groups that are asked for, from the cursor on, as many as an answer may look at.
class ErrorPage {
 public:
  ErrorPage(const Call& call, const ErrorSearch& search)
      : call_(call),
        view_(call.site.broker.view()),
        search_(search),
        pattern_(pattern_of(search.match)) {}

  Json collect() {
    const FailureGroups& failures = view_.orders().failures();
    const FailureGroups::Order& order = failures.by_size();
    const std::vector<FailureGroups::Place> gone = gone_groups();
    auto at = search_.after ? order.upper_bound(*search_.after) : order.begin();
    for (; at != order.end() && !is_full(); ++at) look_at(*at, *failures.find(at->group));
    auto gone_at =
        search_.after ? std::upper_bound(gone.begin(), gone.end(), *search_.after) : gone.begin();
    for (; gone_at != gone.end() && !is_full(); ++gone_at) look_at_gone(*gone_at);
    const bool is_through = at == order.end() && gone_at == gone.end();
    return {{"groups", std::move(shown_)},
            {"looked_at", looked_at_},
            {"to_look_at", order.size() + gone.size()},
            {"next", is_through ? Json(nullptr) : Json(show_cursor(last_))}};
  }

 private:
  [[nodiscard]] bool is_full() const {
    return shown_.size() >= search_.limit || (looked_at_ > 0 && steps_ >= kStepsMax);
  }

  void pass(const FailureGroups::Place& place) {
    ++looked_at_;
    last_ = place;
    steps_ += kGroupSteps;
  }

  /// The groups of the last day without jobs, in the order of their numbers.
  [[nodiscard]] std::vector<FailureGroups::Place> gone_groups() {
    std::vector<FailureGroups::Place> gone;
    for (const std::uint64_t group : call_.site.failures.groups_since(call_.moment.now - 24h)) {
      steps_ += kGroupSteps;
      if (view_.orders().failures().find(group) == nullptr) {
        gone.push_back({.size = 0, .group = group});
      }
    }
    std::sort(gone.begin(), gone.end());
    return gone;
  }

  /// Of it no queue and no type of job is known.
  void look_at_gone(const FailureGroups::Place& place) {
    pass(place);
    const FailureSeries::Name& name = *call_.site.failures.name(place.group);
    if (!search_.queue.empty() || !search_.type.empty()) return;
    if (!says(name.type, name.message)) return;
    steps_ += kShowSteps;
    Json shown = {
        {"group", hex(place.group)},
        {"jobs", 0},
        {"type", name.type},
        {"message", name.message},
        {"frame", nullptr},
        {"first_at", nullptr},
        {"last_at", show_time(*call_.site.failures.last_at(place.group), view_.wall_clock())},
        {"hours", show_hours(place.group)},
        {"sample", nullptr},
        {"queues", Json::array()},
        {"queue_count", 0},
        {"types", Json::array()}};
    for (const JobState state : FailureGroups::kSampled) shown[http::name_of(state)] = 0;
    shown_.push_back(std::move(shown));
  }

  void look_at(const FailureGroups::Place& place, const FailureGroups::Group& group) {
    pass(place);
    if (!is_of_queue(group)) return;
    std::vector<std::string> types = types_of(group);
    const auto is_of_type = [this](const std::string& type) {
      return is_wanted(type, search_.type);
    };
    if (!search_.type.empty() && std::ranges::none_of(types, is_of_type)) return;
    const Failure& failure = *view_.jobs().find_unread(group.sample())->failure();
    const std::vector<std::string> queues = queues_of(group);
    steps_ += kMessageSteps;
    const std::string message(cut(normalized_message(failure.message), kTextBytesMax));
    for (const std::string& lines : failure.backtrace) steps_ += lines.size() / kBytesAStep;
    const std::string frame(cut(normalized_frame(failure), kTextBytesMax));
    if (!search_.match.empty()) {
      const auto has_match = [&](std::string_view text) {
        return contains_ignoring_case(text, search_.match);
      };
      const bool is_named =
          std::ranges::any_of(types, has_match) || std::ranges::any_of(queues, has_match);
      if (!is_named && !says(failure.errtype, message) && !has_match(frame)) return;
    }
    steps_ += kShowSteps;
    shown_.push_back(show(place, group));
    Json& shown = shown_.back();
    shown["type"] = failure.errtype;
    shown["message"] = message;
    shown["frame"] = text_or_null(frame);
    shown["queues"] = queues;
    types.resize(std::min(types.size(), kTypesOfErrorMax));
    for (std::string& type : types) type.resize(cut(type, kTextBytesMax).size());
    shown["types"] = types;
  }

  /// A message may also be looked for as somebody has read it, perhaps with its type before it.
  [[nodiscard]] bool says(std::string_view type, std::string_view message) const {
    return contains_ignoring_case(type, search_.match) ||
           contains_ignoring_case(message, search_.match) ||
           (!pattern_.empty() && contains_ignoring_case(concat(type, ": ", message), pattern_));
  }

  /// What the text looks for in messages without what differs from job to job; empty: too little.
  [[nodiscard]] static std::string pattern_of(std::string_view match) {
    constexpr std::ptrdiff_t kLettersMin = 5;
    std::string pattern = normalized_message(match);
    return std::ranges::count_if(pattern, is_letter) < kLettersMin ? std::string() : pattern;
  }

  [[nodiscard]] bool is_of_queue(const FailureGroups::Group& group) {
    if (search_.queue.empty()) return true;
    if (!search_.queue.ends_with('*')) {
      const Queue* const queue = view_.queues().find(search_.queue);
      return queue != nullptr && group.queues.contains(queue->id);
    }
    std::size_t left = kQueuesReadMax;
    for (auto at = group.queues.begin(); at != group.queues.end() && left > 0; ++at, --left) {
      steps_ += kGroupSteps;
      if (is_wanted(view_.queues().at(at->first).name, search_.queue)) return true;
    }
    return false;
  }

  /// Up to `kQueuesOfErrorMax` of them.
  [[nodiscard]] std::vector<std::string> queues_of(const FailureGroups::Group& group) {
    std::vector<std::string> queues;
    for (const auto& [queue, jobs] : group.queues) {
      steps_ += kGroupSteps;
      queues.push_back(view_.queues().at(queue).name);
      if (queues.size() == kQueuesOfErrorMax) break;
    }
    return queues;
  }

  /// Sorted. Bodies that only the log holds are not read.
  [[nodiscard]] std::vector<std::string> types_of(const FailureGroups::Group& group) {
    std::vector<std::string> types;
    std::size_t left = kJobsReadMax;
    for (const JobState state : FailureGroups::kSampled) {
      const JobsByState::Order& jobs = group.jobs.of(state);
      for (auto at = jobs.rbegin(); at != jobs.rend() && left > 0; ++at, --left) {
        const Job& job = *view_.jobs().find_unread(at->id);
        if (!job.has_body()) continue;
        std::string type = call_.site.format.type_of(job).name;
        steps_ += kJobSteps + type.size() / kBytesAStep;
        if (steps_ > kStepsMax) left = 1;  // nobody has so long types by mistake
        type.resize(cut(type, kFilterBytesMax).size());
        const auto place = std::ranges::lower_bound(types, type);
        if (place == types.end() || *place != type) types.insert(place, std::move(type));
      }
    }
    return types;
  }

  [[nodiscard]] Json show(const FailureGroups::Place& place,
                          const FailureGroups::Group& group) const {
    const WallClock clock = view_.wall_clock();
    // A job may have failed so more than once.
    const Time last = call_.site.failures.last_at(place.group).value_or(group.last_at);
    Json shown = {{"group", hex(place.group)},
                  {"jobs", place.size},
                  {"first_at", show_time(group.first_at, clock)},
                  {"last_at", show_time(std::max(group.last_at, last), clock)},
                  {"hours", show_hours(place.group)},
                  {"sample", group.sample()},
                  {"queue_count", group.queues.size()}};
    for (const JobState state : FailureGroups::kSampled) {
      shown[http::name_of(state)] = group.jobs.of(state).size();
    }
    return shown;
  }

  /// How many failures came in each of the last 24 hours, or in fewer, if it is known for less long
  /// than that; null: they were not recorded.
  [[nodiscard]] Json show_hours(std::uint64_t group) const {
    constexpr std::size_t kDay = 2;
    constexpr std::size_t kPointsAnHour = kSpans[kDay].points / kHours;
    static_assert(kSpans[kDay].interval * kPointsAnHour == 1h);
    // With the interval that has not ended.
    const std::int64_t ends = ends_at(call_.moment.now)[kDay] + 1;
    const auto points = call_.site.failures.counts(group, kDay, ends);
    if (!points) return nullptr;
    std::vector<std::uint64_t> hours((points->size() + kPointsAnHour - 1) / kPointsAnHour);
    for (std::size_t age = 0; age < points->size(); ++age) {
      hours[hours.size() - 1 - age / kPointsAnHour] += (*points)[points->size() - 1 - age];
    }
    return hours;
  }

  const Call& call_;
  const View& view_;
  const ErrorSearch& search_;
  std::string pattern_;
  Json shown_ = Json::array();
  FailureGroups::Place last_{};  ///< that was looked at
  std::size_t looked_at_ = 0;
  std::size_t steps_ = 0;
};

}  // namespace

Response list_errors(const Call& call) {
  const Outcome<ErrorSearch> search = read_error_search(call.request);
  if (!search) return refuse(400, search.error().text);
  return {.body = dump(ErrorPage(call, *search).collect())};
}

}  // namespace millrace::http
