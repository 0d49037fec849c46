#include <algorithm>
#include <vector>

#include "base/number.hpp"
#include "base/text.hpp"
#include "core/model/failure_group.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "http/routes/handlers.hpp"
#include "http/routes/job_filter.hpp"
#include "http/routes/job_view.hpp"
#include "http/routes/scope.hpp"

/// Failures in groups (`FailureGroups`), those with the most jobs first; and then what no job has
/// any more, but has occurred lately, or is marked (`ErrorMark`).
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
/// To find a job that has ended among so many costs one step.
constexpr std::size_t kEndedAStep = 400;
/// So many bytes of a backtrace, or of the type of a job, cost one step.
constexpr std::size_t kBytesAStep = 24;

constexpr std::uint64_t kMuteSecondsMax = 366 * 86'400;
constexpr std::uint64_t kMuteJobsMax = 1'000'000'000;
/// Of a message and a note in the list of changes.
constexpr std::size_t kMessageShownBytes = 80;
constexpr std::size_t kNoteShownBytes = 90;

enum class Muted { kWith, kWithout, kOnly };

struct ErrorSearch {
  std::optional<FailureGroups::Place> after;
  std::string_view match;  ///< in the type, message, frame, queues, job types or note; empty: any
  std::string_view queue;  ///< as `is_wanted` takes it; empty: any
  std::string_view type;   ///< of jobs; the same
  Muted muted = Muted::kWith;
  std::size_t limit = kPageDefault;
};

/// size "-" group
std::string show_cursor(const FailureGroups::Place& place) {
  return concat(place.size, "-", hex(place.group));
}

std::optional<FailureGroups::Place> parse_cursor(std::string_view cursor) {
  const auto size = parse_number<std::size_t>(take_until(cursor, '-'));
  const auto group = parse_failure_group(cursor);
  if (!size || !group) return std::nullopt;
  return FailureGroups::Place{.size = *size, .group = *group};
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
  if (const std::string_view muted = request.param("muted"); !muted.empty()) {
    if (muted != "no" && muted != "only") return Problem{"muted is no or only"};
    search.muted = muted == "no" ? Muted::kWithout : Muted::kOnly;
  }
  return search;
}

Json show_mute(const ErrorMark* mark, std::size_t jobs, Time now, WallClock clock) {
  if (mark == nullptr || !mark->is_muted(now, jobs)) return nullptr;
  return {{"until", mark->muted_until > now ? show_time(mark->muted_until, clock) : Json(nullptr)},
          {"below_jobs", mark->muted_below > 0 ? Json(mark->muted_below) : Json(nullptr)}};
}

Json show_note(const ErrorMark* mark, WallClock clock) {
  if (mark == nullptr || mark->note.empty()) return nullptr;
  return {{"text", mark->note}, {"at", show_time(mark->noted_at, clock)}};
}

/// The groups that are asked for, from the cursor on, as many as an answer may look at.
class ErrorPage {
 public:
  /// With groups alone whose queues are all in the scope.
  ErrorPage(const Call& call, const Scope& scope, const ErrorSearch& search)
      : call_(call),
        view_(call.site.broker.view()),
        scope_(scope),
        search_(search),
        pattern_(pattern_of(search.match)) {}

  Json collect() {
    const FailureGroups& failures = view_.orders().failures();
    const FailureGroups::Order& order = failures.by_size();
    // Nobody knows of what queues these were.
    const auto gone = scope_.is_all() ? gone_groups() : std::vector<FailureGroups::Place>();
    auto at = search_.after ? order.upper_bound(*search_.after) : order.begin();
    for (; at != order.end() && !is_full(); ++at) look_at(*at, *failures.find(at->group));
    auto gone_at =
        search_.after ? std::upper_bound(gone.begin(), gone.end(), *search_.after) : gone.begin();
    for (; gone_at != gone.end() && !is_full(); ++gone_at) look_at_gone(*gone_at);
    const bool is_through = at == order.end() && gone_at == gone.end();
    return {{"groups", std::move(shown_)},
            {"muted", muted_count()},
            {"looked_at", looked_at_},
            {"to_look_at", scope_.is_all() ? Json(order.size() + gone.size()) : Json(nullptr)},
            {"next", is_through ? Json(nullptr) : Json(show_cursor(last_))}};
  }

  /// The group of that number; null: no job has it, it did not occur lately, and nothing was said
  /// of it.
  Json show_one(std::uint64_t number) {
    if (const FailureGroups::Group* const group = find(number)) {
      look_at({.size = group->size, .group = number}, *group);
    } else if (scope_.is_all()) {
      look_at_gone({.size = 0, .group = number});
    }
    return shown_.empty() ? Json(nullptr) : std::move(shown_[0]);
  }

 private:
  [[nodiscard]] bool is_full() const {
    return shown_.size() >= search_.limit || (steps_ >= kStepsMax && last_.group != 0);
  }

  void pass(const FailureGroups::Place& place) {
    ++looked_at_;
    last_ = place;
    steps_ += kGroupSteps;
  }

  [[nodiscard]] bool is_in_scope(const FailureGroups::Group& group) {
    if (scope_.is_all()) return true;
    if (group.queues.size() > kQueuesReadMax) return false;
    return std::ranges::all_of(group.queues, [&](const auto& each) {
      steps_ += kGroupSteps;
      return scope_.has(view_.queues().at(each.first).name);
    });
  }

  /// The groups without jobs that occurred in the last day or are marked, in the order of their
  /// numbers.
  [[nodiscard]] std::vector<FailureGroups::Place> gone_groups() {
    std::vector<std::uint64_t> numbers = call_.site.failures.groups_since(call_.moment.now - 24h);
    view_.error_marks().each([&](std::uint64_t number, const ErrorMark& mark) {
      if (!mark.is_over(call_.moment.now)) numbers.push_back(number);
    });
    std::ranges::sort(numbers);
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    steps_ += numbers.size() * kGroupSteps;
    std::vector<FailureGroups::Place> gone;
    for (const std::uint64_t number : numbers) {
      if (find(number) == nullptr) gone.push_back({.size = 0, .group = number});
    }
    return gone;
  }

  [[nodiscard]] const FailureGroups::Group* find(std::uint64_t group) const {
    return view_.orders().failures().find(group);
  }

  [[nodiscard]] const ErrorMark* mark_of(std::uint64_t group) const {
    return view_.error_marks().find(group);
  }

  [[nodiscard]] std::size_t muted_count() {
    std::size_t count = 0;
    view_.error_marks().each([&](std::uint64_t number, const ErrorMark& mark) {
      const FailureGroups::Group* const group = find(number);
      if (group == nullptr ? !scope_.is_all() : !is_in_scope(*group)) return;
      if (mark.is_muted(call_.moment.now, group == nullptr ? 0 : group->size)) ++count;
    });
    return count;
  }

  [[nodiscard]] bool is_wanted_so(const FailureGroups::Place& place) const {
    if (search_.muted == Muted::kWith) return true;
    const ErrorMark* const mark = mark_of(place.group);
    const bool is_muted = mark != nullptr && mark->is_muted(call_.moment.now, place.size);
    return is_muted == (search_.muted == Muted::kOnly);
  }

  /// Of it the last job is known, where that has ended not long ago; later on, only what people say
  /// of it.
  void look_at_gone(const FailureGroups::Place& place) {
    pass(place);
    const FailureSeries::Name* const name = call_.site.failures.name(place.group);
    if (name == nullptr && mark_of(place.group) == nullptr) return;
    if (!is_wanted_so(place)) return;
    const bool is_match = search_.match.empty() || is_noted(place.group) ||
                          (name != nullptr && says(name->type, name->message));
    if (!is_match) return;
    const FinishedJob* const ended = last_ended(place.group);
    const std::string queue(ended == nullptr ? "" : ended->queue());
    const std::string type = ended == nullptr ? "" : name_of(*ended, call_.site.format).jobtype;
    const bool has_queue = search_.queue.empty() || is_wanted(queue, search_.queue);
    const bool has_type = search_.type.empty() || is_wanted(type, search_.type);
    if (!has_queue || !has_type) return;
    steps_ += kShowSteps;
    Json& shown = shown_.emplace_back(show(place, nullptr));
    if (name != nullptr) {
      shown["type"] = name->type;
      shown["message"] = name->message;
    }
    if (ended == nullptr) return;
    shown["sample"] = ended->id;
    shown["queues"].push_back(queue);
    shown["queue_count"] = 1;
    if (!type.empty()) shown["types"].push_back(std::string(cut(type, kTextBytesMax)));
  }

  /// The job that failed with it last. Null: it is not remembered.
  [[nodiscard]] const FinishedJob* last_ended(std::uint64_t group) {
    const JobId id = call_.site.failures.last_job(group);
    if (id == 0) return nullptr;
    steps_ += view_.finished().size() / kEndedAStep;
    return view_.finished().find(id, call_.moment.now);
  }

  void look_at(const FailureGroups::Place& place, const FailureGroups::Group& group) {
    if (!is_in_scope(group)) {
      last_ = place;
      return;
    }
    pass(place);
    if (!is_wanted_so(place) || !is_of_queue(group)) return;
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
      const bool is_named = std::ranges::any_of(types, has_match) ||
                            std::ranges::any_of(queues, has_match) || is_noted(place.group);
      if (!is_named && !says(failure.errtype, message) && !has_match(frame)) return;
    }
    steps_ += kShowSteps;
    Json& shown = shown_.emplace_back(show(place, &group));
    shown["type"] = failure.errtype;
    shown["message"] = message;
    shown["frame"] = text_or_null(frame);
    shown["queues"] = queues;
    types.resize(std::min(types.size(), kTypesOfErrorMax));
    for (std::string& type : types) type.resize(cut(type, kTextBytesMax).size());
    shown["types"] = types;
  }

  /// Whether the text is in the note.
  [[nodiscard]] bool is_noted(std::uint64_t group) const {
    const ErrorMark* const mark = mark_of(group);
    return mark != nullptr && contains_ignoring_case(mark->note, search_.match);
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

  /// What is known of it without a look at its jobs. `group`: null: no job has it.
  [[nodiscard]] Json show(const FailureGroups::Place& place,
                          const FailureGroups::Group* group) const {
    const WallClock clock = view_.wall_clock();
    // A job may have failed so more than once.
    const Time last = std::max(
        scope_.is_all() ? call_.site.failures.last_at(place.group).value_or(Time{}) : Time{},
        group == nullptr ? Time{} : group->last_at);
    Json shown = {
        {"group", hex(place.group)},
        {"jobs", place.size},
        {"type", nullptr},
        {"message", nullptr},
        {"frame", nullptr},
        {"first_at", group == nullptr ? Json(nullptr) : show_time(group->first_at, clock)},
        {"last_at", show_time(last, clock)},
        // Jobs of other queues may have failed so.
        {"hours", scope_.is_all() ? show_hours(place.group) : Json(nullptr)},
        {"muted", show_mute(mark_of(place.group), place.size, call_.moment.now, clock)},
        {"note", show_note(mark_of(place.group), clock)},
        {"sample", group == nullptr ? Json(nullptr) : Json(group->sample())},
        {"queues", Json::array()},
        {"queue_count", group == nullptr ? 0 : group->queues.size()},
        {"types", Json::array()}};
    for (const JobState state : FailureGroups::kSampled) {
      shown[http::name_of(state)] = group == nullptr ? 0 : group->jobs.of(state).size();
    }
    return shown;
  }

  /// How many failures came in each of the last 24 hours, or in fewer, if it is known for less long
  /// than that; null: they were not recorded.
  [[nodiscard]] Json show_hours(std::uint64_t group) const {
    constexpr std::size_t kDay = 3;
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
  const Scope& scope_;
  const ErrorSearch& search_;
  std::string pattern_;
  Json shown_ = Json::array();
  FailureGroups::Place last_{};  ///< that was looked at
  std::size_t looked_at_ = 0;
  std::size_t steps_ = 0;
};

Json show_group(const Call& call, const Scope& scope, std::uint64_t group) {
  const ErrorSearch any;
  return ErrorPage(call, scope, any).show_one(group);
}

Response say_unknown() {
  return refuse(404, "no such error: no job has it, and it did not occur lately");
}

/// For the list of changes.
std::string name_of_error(const Json& group) {
  if (group["type"].is_null()) return concat("error ", group["group"].get<std::string>());
  const auto& message = group["message"].get_ref<const std::string&>();
  return concat(group["type"].get_ref<const std::string&>(), " ", cut(message, kMessageShownBytes));
}

/// For the list of changes, too.
std::string describe_mute(const ErrorMark& mark, Time now, WallClock clock) {
  if (mark.muted_below > 0) return concat("muted below ", mark.muted_below, " jobs");
  if (mark.muted_until <= now) return "not muted";
  return concat("muted until ", show_time(mark.muted_until, clock).get<std::string>());
}

std::string describe_note(const ErrorMark& mark, Time, WallClock) {
  return mark.note.empty() ? "no note" : concat("note: ", one_line(mark.note, kNoteShownBytes));
}

/// Changes what is said of the error that the path names. `describe` puts it in words.
template <typename Edit>
Response edit_mark(const Call& call, const Scope& scope,
                   std::string (*describe)(const ErrorMark&, Time, WallClock), Edit edit) {
  const auto number = parse_failure_group(call.name);
  const Json known = number ? show_group(call, scope, *number) : Json(nullptr);
  if (known.is_null()) return say_unknown();
  const ErrorMark* const before = call.site.broker.view().error_marks().find(*number);
  ErrorMark mark = before == nullptr ? ErrorMark{} : *before;
  const auto words = [&] {
    return describe(mark, call.moment.now, call.site.broker.view().wall_clock());
  };
  const std::string former = words();
  edit(mark);
  const std::string changed = concat(former, " → ", words());
  const Answer<Done> done =
      call.site.broker.admin().mark_error(*number, std::move(mark), call.moment.now);
  if (!done && done.error() == Refusal::kNoRoom) return refuse_for_room();
  if (!done) {
    return refuse(409, concat(kErrorMarksMax,
                              " errors are muted or have notes, and no more can be: unmute some"));
  }
  Json shown = show_group(call, scope, *number);
  if (shown.is_null()) {  // its note was all that was known
    shown = known;
    shown["muted"] = shown["note"] = nullptr;
  }
  return {.body = dump(shown),
          .is_change = true,
          .changed = concat(name_of_error(known), ": ", changed)};
}

/// A member that is a whole number up to `max`, from 1 on. 0: it is not there.
Outcome<std::uint64_t> read_count(const Json& members, const char* name, std::uint64_t max) {
  const auto found = members.find(name);
  if (found == members.end() || found->is_null()) return 0;
  if (!found->is_number_unsigned() || *found < 1 || *found > max) {
    return Problem{concat(name, " is not a whole number from 1 to ", max)};
  }
  return found->get<std::uint64_t>();
}

}  // namespace

Response show_error(const Call& call, const Scope& scope) {
  const auto number = parse_failure_group(call.name);
  Json group = number ? show_group(call, scope, *number) : Json(nullptr);
  return group.is_null() ? say_unknown() : Response{.body = dump(group)};
}

Response mute_error(const Call& call, const Scope& scope) {
  const Json& members = call.request.members;
  const Outcome<std::uint64_t> seconds = read_count(members, "seconds", kMuteSecondsMax);
  if (!seconds) return refuse(400, seconds.error().text);
  const Outcome<std::uint64_t> jobs = read_count(members, "jobs", kMuteJobsMax);
  if (!jobs) return refuse(400, jobs.error().text);
  if ((*seconds == 0) == (*jobs == 0)) return refuse(400, "give either seconds or jobs");
  const auto number = parse_failure_group(call.name);
  const auto* const group =
      number ? call.site.broker.view().orders().failures().find(*number) : nullptr;
  if (*jobs > 0 && group != nullptr && group->size >= *jobs) {
    return refuse(409, concat(group->size, " jobs have it already: give a larger number"));
  }
  return edit_mark(call, scope, describe_mute, [&](ErrorMark& mark) {
    mark.muted_until = *seconds > 0 ? call.moment.now + std::chrono::seconds(*seconds) : Time{};
    mark.muted_below = *jobs;
  });
}

Response unmute_error(const Call& call, const Scope& scope) {
  return edit_mark(call, scope, describe_mute, [](ErrorMark& mark) {
    mark.muted_until = Time{};
    mark.muted_below = 0;
  });
}

Response note_error(const Call& call, const Scope& scope) {
  const auto found = call.request.members.find("text");
  if (found == call.request.members.end() || !found->is_string()) {
    return refuse(400, "text is not a string");
  }
  std::string text = *found;
  if (text.find_first_not_of(" \t\r\n") == text.npos) text.clear();
  if (text.size() > kErrorNoteBytesMax) {
    return refuse(400, concat("text has more than ", kErrorNoteBytesMax, " bytes"));
  }
  // Two people who edit it at once do not overwrite each other's text.
  const auto was = call.request.members.find("was");
  const auto number = parse_failure_group(call.name);
  const ErrorMark* const now =
      number ? call.site.broker.view().error_marks().find(*number) : nullptr;
  const bool is_given = was != call.request.members.end() && !was->is_null();
  if (is_given && !was->is_string()) return refuse(400, "was is not a string");
  if (is_given && *was != (now == nullptr ? "" : now->note)) {
    return refuse(409, "the note has changed since you opened it: reload the page");
  }
  return edit_mark(call, scope, describe_note, [&](ErrorMark& mark) {
    mark.noted_at = text.empty() ? Time{} : call.moment.now;
    mark.note = std::move(text);
  });
}

Response list_errors(const Call& call, const Scope& scope) {
  const Outcome<ErrorSearch> search = read_error_search(call.request);
  if (!search) return refuse(400, search.error().text);
  return {.body = dump(ErrorPage(call, scope, *search).collect())};
}

}  // namespace millrace::http
