#include <string>

#include "base/number.hpp"
#include "base/text.hpp"
#include "http/kit/input.hpp"
#include "http/routes/handlers.hpp"
#include "http/routes/job_filter.hpp"

/// The locks of unique jobs.
namespace millrace::http {
namespace {

constexpr std::size_t kHalfDigits = 16;
constexpr std::size_t kKeyDigits = 2 * kHalfDigits;

std::string show_key(const LockKey& key) {
  return hex(key.high) + hex(key.low);
}

std::optional<LockKey> parse_key(std::string_view text) {
  if (text.size() != kKeyDigits) return std::nullopt;
  const auto high = parse_number<std::uint64_t>(text.substr(0, kHalfDigits), 16);
  const auto low = parse_number<std::uint64_t>(text.substr(kHalfDigits), 16);
  return high && low ? std::optional(LockKey{.high = *high, .low = *low}) : std::nullopt;
}

/// When the job took its lock, as a time to be shown. One that was taken anew has no other record.
Json taken_at(const Job& job, WallClock clock) {
  if (job.lock_ends() == job.features->lock_ends) return show_time(job.created_at, clock);
  const auto lasted = std::chrono::duration<double>(job.features->lock_seconds);
  return show_time(job.lock_ends() - std::chrono::duration_cast<Duration>(lasted), {});
}

Json show_row(const Job& job, const WorkUnitFormat::Summary& summary, const View& view, Time now) {
  const WallClock clock = view.wall_clock();
  return {{"key", show_key(job.features->lock_key)},
          {"job", job.id},
          {"jid", summary.jid},
          {"type", summary.type},
          {"queue", view.queues().at(job.queue).name},
          {"state", http::name_of(job.state)},
          {"since", taken_at(job, clock)},
          {"until", show_time(job.lock_ends(), {})},
          {"is_over", job.lock_ends() <= clock.shown(now)},
          {"ends_with", job.features->locks_until_start ? "start" : "success"}};
}

/// A page of the list that is being made.
class LockPage {
 public:
  LockPage(const Call& call, const Scope& scope, const JobFilter& filter, std::size_t limit)
      : call_(call), scope_(scope), filter_(filter), limit_(limit) {}

  /// False: the page is full, or long enough was looked for.
  bool add(const Job& job) {
    if (rows_.size() == limit_ || read_bytes_ >= kSearchBytes) {
      is_more_ = true;
      return false;
    }
    ++looked_at_;
    last_ = job.features->lock_key;
    // Others may take a lock that is lent.
    if (!job.holds_lock()) return true;
    const View& view = call_.site.broker.view();
    const std::string& queue = view.queues().at(job.queue).name;
    if (!scope_.has(queue)) return ++hidden_ > 0;
    if (filter_.queue && !is_wanted(queue, *filter_.queue)) return true;
    read_bytes_ += job.body_bytes;
    const WorkUnitFormat::Summary summary = call_.site.format.summarize(job);
    if (filter_.type && !is_wanted(summary.type, *filter_.type)) return true;
    rows_.push_back(show_row(job, summary, view, call_.moment.now));
    return true;
  }

  /// `steps`: how many locks were to be looked at.
  Json show(std::size_t steps) && {
    const bool has_next = is_more_ || looked_at_ == steps;
    return {{"locks", std::move(rows_)},
            {"total",
             scope_.is_all() ? Json(call_.site.broker.view().jobs().lock_count()) : Json(nullptr)},
            {"looked_at", looked_at_ - hidden_},
            {"next", has_next && last_ ? Json(show_key(*last_)) : Json(nullptr)}};
  }

 private:
  const Call& call_;
  const Scope& scope_;
  const JobFilter& filter_;
  std::size_t limit_;
  Json rows_ = Json::array();
  std::size_t looked_at_ = 0;
  std::size_t hidden_ = 0;  ///< of them: of queues that the user may not see
  std::size_t read_bytes_ = 0;
  std::optional<LockKey> last_;
  bool is_more_ = false;
};

}  // namespace

Response list_locks(const Call& call, const Scope& scope) {
  const Outcome<std::size_t> limit = read_limit(call.request);
  if (!limit) return refuse(400, limit.error().text);
  const Outcome<JobFilter> filter = read_filter(call.request);
  if (!filter) return refuse(400, filter.error().text);
  const std::string_view cursor = call.request.param("cursor");
  const std::optional<LockKey> after = parse_key(cursor);
  if (!cursor.empty() && !after) return refuse(400, kWrongCursor);
  // Without a filter, one further than what is shown.
  const bool is_plain = filter->is_empty() && scope.is_all();
  const std::size_t steps = is_plain ? *limit + 1 : kSearchSteps;
  LockPage page(call, scope, *filter, *limit);
  call.site.broker.view().jobs().page_locks(after, steps,
                                            [&](const Job& job) { return page.add(job); });
  return {.body = dump(std::move(page).show(steps))};
}

Response free_lock(const Call& call) {
  const JobId id = parse_number<JobId>(call.name).value_or(0);
  if (!call.site.broker.view().jobs().state_of(id)) return say_gone(call);
  const Answer<Done> freed = call.site.broker.admin().free_lock(id, call.moment.now);
  if (!freed && freed.error() == Refusal::kNoRoom) return refuse_for_room();
  if (!freed) return refuse(409, "this job holds no lock");
  return {.body = dump({{"job", id}}), .is_change = true};
}

}  // namespace millrace::http
