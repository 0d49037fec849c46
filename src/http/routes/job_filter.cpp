#include "http/routes/job_filter.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/number.hpp"
#include "base/search/json_text_search.hpp"
#include "base/text.hpp"
#include "core/model/failure_group.hpp"
#include "core/model/features/attempt.hpp"
#include "core/model/features/bid.hpp"
#include "http/kit/input.hpp"
#include "http/kit/json.hpp"
#include "http/kit/text.hpp"
#include "http/routes/arg_search.hpp"
#include "http/routes/job_query.hpp"

namespace millrace::http {
namespace {

/// One text member of the filter and its name in queries.
struct TextMember {
  const char* name;
  JobFilter::Text JobFilter::*member;
};

constexpr TextMember kTextMembers[] = {{"queue", &JobFilter::queue}, {"bid", &JobFilter::bid},
                                       {"type", &JobFilter::type},   {"id", &JobFilter::id},
                                       {"error", &JobFilter::error}, {"group", &JobFilter::group},
                                       {"text", &JobFilter::text},   {"arg", &JobFilter::arg},
                                       {"wid", &JobFilter::wid},     {"q", &JobFilter::q}};

struct NumberMember {
  const char* name;
  JobFilter::Number JobFilter::*member;
};

constexpr NumberMember kNumberMembers[] = {{"client", &JobFilter::client},
                                           {"older_than_s", &JobFilter::older_than_s},
                                           {"failed_since_ms", &JobFilter::failed_since_ms},
                                           {"failed_until_ms", &JobFilter::failed_until_ms}};

Problem no_number(const char* name) {
  return Problem{concat(name, " is not a number from 1 on")};
}

bool fails_as(const Job& job, const JobFilter& filter) {
  if (!filter.error) return true;
  const Failure* failure = job.failure();
  if (failure == nullptr) return false;
  return contains_ignoring_case(failure->errtype, *filter.error) ||
         contains_ignoring_case(failure->message, *filter.error);
}

bool is_held_by(const Job& job, const JobFilter& filter) {
  if (!filter.wid && !filter.client) return true;
  const Reservation* held = job.reservation();
  return held != nullptr && (!filter.wid || held->wid == *filter.wid) &&
         (!filter.client || held->client == *filter.client);
}

bool is_named(const Job& job, const JobFilter& filter, const WorkUnitFormat& format) {
  if (!filter.type && !filter.id) return true;
  const bool has_id = !filter.id || std::to_string(job.id) == *filter.id;
  if (has_id && !filter.type) return true;
  // A jid may be looked for among millions of jobs: reading nothing else of them is much faster.
  if (!filter.type && job.kind == JobKind::kWorkUnit) {
    return format.identify(job).jid.starts_with(*filter.id);
  }
  const WorkUnitFormat::Summary summary = format.summarize(job);
  if (filter.type && !is_wanted(summary.type, *filter.type)) return false;
  return has_id || summary.jid.starts_with(*filter.id);
}

/// Looks for something in bodies, and remembers how far it came: a body never changes, so the
/// search of a long one can go on where it was.
template <typename Search>
class BodySearch {
 public:
  /// A byte costs so many steps.
  BodySearch(Search search, std::size_t steps_a_byte)
      : search_(std::move(search)), steps_a_byte_(steps_a_byte) {}

  /// In this part of the job's body.
  Match look_into(const Job& job, std::string_view part, Steps& steps) {
    if (found_ == job.id) return Match::kYes;
    if (missed_ == job.id) return Match::kNo;
    if (std::exchange(searched_, 0) != job.id) {
      search_.restart();
      read_bytes_ = 0;
    }
    const std::string_view rest = part.substr(read_bytes_);
    const std::string_view now = rest.substr(0, steps.left() / steps_a_byte_);
    steps.use_up(now.size() * steps_a_byte_);
    if (search_.read(now)) {
      found_ = job.id;
      return Match::kYes;
    }
    if (now.size() == rest.size() || is_over(search_)) {
      missed_ = job.id;
      return Match::kNo;
    }
    searched_ = job.id;
    read_bytes_ += now.size();
    return Match::kUnfinished;
  }

 private:
  static bool is_over(const JsonTextSearch& /*search*/) { return false; }
  static bool is_over(const ArgSearch& search) { return search.is_over(); }

  Search search_;
  std::size_t steps_a_byte_;
  JobId searched_ = 0;  ///< 0: no body is searched in part
  JobId found_ = 0;     ///< the last one in whose body it was found
  JobId missed_ = 0;    ///< the last one in whose body it was not
  std::size_t read_bytes_ = 0;
};

std::vector<ArgPath> paths_of(const JobFilter& filter) {
  return filter.arg ? parse_args(*filter.arg).value() : std::vector<ArgPath>();
}

JobQuery query_of(const JobFilter& filter) {
  return filter.q ? parse_query(*filter.q).value() : JobQuery();
}

/// Compares jobs with a filter.
class Matcher {
 public:
  Matcher(const JobFilter& filter, const JobReading& reading, Time now)
      : filter_(filter),
        format_(&reading.format),
        view_(&reading.view),
        args_part_(reading.args_part) {
    const auto ago = [now](std::uint64_t seconds) {
      // Bounded, since more seconds would not fit into a time.
      return now - std::chrono::seconds(std::min(seconds, std::uint64_t{1} << 32));
    };
    if (filter.older_than_s) created_before_ = ago(*filter.older_than_s);
    if (filter.younger_than_s) created_after_ = ago(*filter.younger_than_s);
    if (filter.failed_before_s) failed_last_before_ = ago(*filter.failed_before_s);
    if (filter.failed_within_s) failed_last_after_ = ago(*filter.failed_within_s);
    failed_since_ = time_of(filter.failed_since_ms, Time::min());
    failed_until_ = time_of(filter.failed_until_ms, Time::max());
    group_ = group_of(filter);
    batch_ = batch_of(filter);
    if (filter.text) text_.emplace(JsonTextSearch(*filter.text), 1);
    // It reads byte by byte.
    for (ArgPath& path : paths_of(filter)) args_.emplace_back(ArgSearch(std::move(path)), 4);
    for (const auto& terms : query_of(filter)) {
      query_.emplace_back();
      for (const auto& [term, is_negated] : terms)
        query_.back().emplace_back(Matcher(term, reading, now), is_negated);
    }
  }

  Match operator()(const Job& job, const Queue& queue, Steps& steps) {
    // The cheap comparisons come first.
    if (filter_.queue && !is_wanted(queue.name, *filter_.queue)) return Match::kNo;
    // Jobs are often searched by age, and the time is in memory. A body may not be.
    if (job.created_at > created_before_ || job.created_at < created_after_) return Match::kNo;
    if (!is_held_by(job, filter_) || !fails_as(job, filter_)) return Match::kNo;
    if (!failed_then(job) || !failed_last_then(job) || !was_run_so_often(job)) return Match::kNo;
    if (batch_ != 0 && !is_member(job)) return Match::kNo;
    if (group_ != 0 && !is_of_group(job)) return Match::kNo;
    if (text_) {
      const Match found = text_->look_into(job, job.body_view(), steps);
      if (found != Match::kYes) return found;
    }
    for (BodySearch<ArgSearch>& arg : args_) {
      const Match found = arg.look_into(job, args_part_(job), steps);
      if (found != Match::kYes) return found;
    }
    if (!is_named(job, filter_, *format_)) return Match::kNo;
    return query_.empty() ? Match::kYes : match_query(job, queue, steps);
  }

 private:
  using Term = std::pair<Matcher, bool>;  ///< and whether it must not match

  /// Terms remember what they found in the body of a job about which they are asked again.
  Match match_query(const Job& job, const Queue& queue, Steps& steps) {
    for (std::vector<Term>& terms : query_) {
      bool do_all_hold = true;
      for (auto& [matches, is_negated] : terms) {
        const Match match = matches(job, queue, steps);
        if (match == Match::kUnfinished) return match;
        do_all_hold = (match == Match::kYes) != is_negated;
        if (!do_all_hold) break;
      }
      if (do_all_hold) return Match::kYes;
    }
    return Match::kNo;
  }

  [[nodiscard]] bool is_member(const Job& job) const {
    return job.features && job.features->is_member() && job.features->batch == batch_;
  }

  [[nodiscard]] bool was_run_so_often(const Job& job) const {
    if (!filter_.attempts_over && !filter_.attempts_under) return true;
    const Failure* const failure = job.failure();
    // Imported jobs have failures alone.
    const std::uint64_t failures =
        failure == nullptr ? 0 : static_cast<std::uint64_t>(failure->retry_count) + 1;
    const std::uint64_t runs = std::max<std::uint64_t>(job.tallies().reserves, failures);
    return (!filter_.attempts_over || runs > *filter_.attempts_over) &&
           (!filter_.attempts_under || runs < *filter_.attempts_under);
  }

  [[nodiscard]] bool failed_last_then(const Job& job) const {
    if (!filter_.failed_before_s && !filter_.failed_within_s) return true;
    const Attempts* const attempts = view_->jobs().attempts_of(job);
    const bool has_attempts = attempts != nullptr && !attempts->list.empty();
    if (!has_attempts && job.failure() == nullptr) return false;
    const Time at = has_attempts ? attempts->list.back().ended : job.failure()->failed_at;
    return at <= failed_last_before_ && at >= failed_last_after_;
  }

  [[nodiscard]] Time time_of(JobFilter::Number ms, Time usual) const {
    return ms ? time_of_ms(*ms, view_->wall_clock()) : usual;
  }

  [[nodiscard]] bool is_of_group(const Job& job) const {
    return job.failure() != nullptr && failure_group_number(*job.failure()) == group_;
  }

  /// The time of the first failure is known even where attempts are not kept.
  [[nodiscard]] bool failed_then(const Job& job) const {
    if (!filter_.failed_since_ms && !filter_.failed_until_ms) return true;
    const auto is_then = [this](Time at) { return at >= failed_since_ && at < failed_until_; };
    const Failure* const failure = job.failure();
    if (failure != nullptr && is_then(failure->failed_at)) return true;
    const Attempts* const attempts = view_->jobs().attempts_of(job);
    return attempts != nullptr &&
           std::ranges::any_of(attempts->list, is_then, [](const Attempt& a) { return a.ended; });
  }

  JobFilter filter_;
  const WorkUnitFormat* format_;
  const View* view_;
  ArgsPart args_part_;
  Time created_before_ = kNever;
  Time created_after_ = Time::min();
  Time failed_last_before_ = kNever;
  Time failed_last_after_ = Time::min();
  Time failed_since_ = Time::min();
  Time failed_until_ = Time::max();
  std::optional<BodySearch<JsonTextSearch>> text_;
  std::vector<BodySearch<ArgSearch>> args_;  ///< all must be found
  std::vector<std::vector<Term>> query_;     ///< see `JobQuery`
  std::uint64_t group_ = 0;                  ///< 0: of any, or of none
  JobBatchId batch_ = 0;                     ///< 0: of any, or of none
};

}  // namespace

bool is_wanted(std::string_view name, std::string_view wanted) {
  if (!wanted.ends_with('*')) return name == wanted;
  return name.starts_with(wanted.substr(0, wanted.size() - 1));
}

std::optional<Problem> check_filter_member(std::string_view name, std::string_view text) {
  if (text.empty()) return Problem{concat(name, " is empty: leave it out")};
  if (const auto problem = check_filter_text(name, text)) return problem;
  if (name == "bid" && !parse_bid(text)) {
    return Problem{"bid is not the name of a batch"};
  }
  if (name == "group" && !parse_failure_group(text)) {
    return Problem{"group is not one that /errors names"};
  }
  if (name == "arg") {
    const auto paths = parse_args(text);
    if (!paths) return Problem{"arg is not a path and a value, as user.id:42"};
    if (paths->size() > kArgPathsMax) {
      return Problem{concat("arg has more than ", kArgPathsMax, " values")};
    }
  }
  if (name == "q") {
    if (const auto query = parse_query(text); !query) return query.error();
  }
  return std::nullopt;
}

std::optional<Problem> check_filter_text(std::string_view name, std::string_view text) {
  if (text.size() > kFilterBytesMax) {
    return Problem{concat(name, " is longer than ", kFilterBytesMax, " bytes")};
  }
  // A body may be any bytes. Names and errors of jobs are UTF-8.
  const bool is_of_bytes = name == "text";
  if (!is_of_bytes && !is_utf8(text)) return Problem{concat(name, " is not UTF-8")};
  return std::nullopt;
}

Outcome<JobFilter> read_filter(const Request& request) {
  JobFilter filter;
  for (const auto& [name, member] : kTextMembers) {
    if (!request.params.contains(name)) continue;
    filter.*member = request.param(name);
    if (const auto problem = check_filter_member(name, *(filter.*member))) return *problem;
  }
  for (const auto& [name, member] : kNumberMembers) {
    if (!request.params.contains(name)) continue;
    filter.*member = parse_number<std::uint64_t>(request.param(name));
    if ((filter.*member).value_or(0) == 0) return no_number(name);
  }
  return filter;
}

Outcome<JobFilter> read_filter(const Json& object) {
  JobFilter filter;
  for (const auto& [name, member] : kTextMembers) {
    const auto found = object.find(name);
    if (found == object.end()) continue;
    if (!found->is_string()) return Problem{concat(name, " is not a string")};
    filter.*member = found->get<std::string>();
    if (const auto problem = check_filter_member(name, *(filter.*member))) return *problem;
  }
  for (const auto& [name, member] : kNumberMembers) {
    const auto found = object.find(name);
    if (found == object.end()) continue;
    if (!found->is_number_unsigned() || *found == 0) return no_number(name);
    filter.*member = found->get<std::uint64_t>();
  }
  return filter;
}

std::string describe(const JobFilter& filter) {
  constexpr std::size_t kValueShownMax = 60;
  std::string said;
  const auto say = [&](const char* name, std::string_view value) {
    said += concat(said.empty() ? "" : ", ", name, " \"", cut(value, kValueShownMax),
                   value.size() > kValueShownMax ? "…" : "", "\"");
  };
  for (const auto& [name, member] : kTextMembers) {
    if (filter.*member) say(name, *(filter.*member));
  }
  for (const auto& [name, member] : kNumberMembers) {
    if (filter.*member) say(name, std::to_string(*(filter.*member)));
  }
  return said;
}

std::string queue_of(const JobFilter& filter) {
  return filter.queue && !filter.queue->ends_with('*') ? *filter.queue : std::string();
}

std::string queues_of(const JobFilter& filter) {
  if (!filter.queue || !filter.queue->ends_with('*')) return {};
  return filter.queue->substr(0, filter.queue->size() - 1);
}

JobBatchId batch_of(const JobFilter& filter) {
  return filter.bid ? parse_bid(*filter.bid).value_or(0) : 0;
}

std::uint64_t group_of(const JobFilter& filter) {
  return filter.group ? parse_failure_group(*filter.group).value_or(0) : 0;
}

FilterReads reads_of(const JobFilter& filter) {
  FilterReads reads{.bodies = filter.text || filter.arg, .summaries = filter.id || filter.type};
  reads.only_jids = filter.id && !filter.type && !reads.bodies && !filter.q;
  for (const auto& terms : query_of(filter)) {
    for (const QueryTerm& term : terms) {
      const FilterReads more = reads_of(term.filter);
      reads.bodies |= more.bodies;
      reads.summaries |= more.summaries;
    }
  }
  return reads;
}

JobMatcher make_matcher(const JobFilter& filter, const JobReading& reading, Time now) {
  if (filter.is_empty()) return {};
  return Matcher(filter, reading, now);
}

}  // namespace millrace::http
