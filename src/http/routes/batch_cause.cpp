#include "http/routes/batch_cause.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/text.hpp"
#include "core/model/features/bid.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "http/routes/queue_view.hpp"

namespace millrace::http {
namespace {

constexpr std::size_t kNameBytesMax = 80;

/// One reason; its text begins in lower case, so that the reason of a child can follow a colon.
struct Cause {
  bool is_blocked = false;  ///< nothing goes on before somebody acts
  std::string text;
  JobBatchId batch = 0;    ///< the child whose reason it is; 0: the batch itself
  std::string label = {};  ///< that child as the text names it
  std::string queue = {};
  JobId job = 0;
  Time next = kNever;  ///< when the first of those that are waited for is due
  std::size_t depth = 0;
};
using MaybeCause = std::optional<Cause>;

/// "3 members are", "1 member is"
std::string members(std::uint64_t count, std::string_view one, std::string_view several) {
  return concat(count_of(count, "member"), " ", count == 1 ? one : several);
}

class CauseSearch {
 public:
  CauseSearch(const Site& site, Time now, std::size_t steps_max)
      : site_(site), view_(site.broker.view()), now_(now), steps_(steps_max) {}

  MaybeCause find(const JobBatch& batch, std::size_t depth = 0) {
    if (batch.fields.is_successful()) return std::nullopt;
    MaybeCause blocked = blocked_cause(batch);
    if (blocked) return blocked;
    MaybeCause below = cause_below(batch, depth);
    if (below && below->is_blocked) return below;
    // Last, since each member is a step: children must not be hidden by the members of others.
    if (MaybeCause ready = unserved_members(batch)) return ready;
    if (MaybeCause own = waiting_cause(batch)) return own;
    return below ? below : unknown_child(batch);
  }

 private:
  [[nodiscard]] std::uint64_t count(const JobBatch& batch, JobState state) const {
    return view_.orders().members().of(batch.id, state).size();
  }

  // ---- what somebody has to see to ----

  MaybeCause blocked_cause(const JobBatch& batch) {
    for (const BatchRole role : {BatchRole::kComplete, BatchRole::kSuccess}) {
      if (MaybeCause callback = stuck_callback(batch, role)) return callback;
    }
    const JobBatchFields& fields = batch.fields;
    const bool has_success = fields.callback(BatchRole::kSuccess) != CallbackState::kNone;
    const std::string_view goal =
        has_success ? " so the success callback can run" : " so the batch can succeed";
    if (const std::uint64_t dead = count(batch, JobState::kDead); dead > 0) {
      return Cause{
          .is_blocked = true,
          .text = concat(members(dead, "is dead. Retry it", "are dead. Retry them"), goal)};
    }
    if (fields.lost > 0) {
      return Cause{.is_blocked = true,
                   .text = concat(members(fields.lost, "failed permanently. Accept it",
                                          "failed permanently. Accept them"),
                                  goal)};
    }
    if (fields.callback(BatchRole::kSuccess) == CallbackState::kGone) {
      return Cause{.is_blocked = true,
                   .text = "its success callback was deleted and will not be pushed again"};
    }
    return std::nullopt;
  }

  /// Of the first ready members: those of a queue from which nothing is taken.
  MaybeCause unserved_members(const JobBatch& batch) {
    const JobsByState::Order& ready = view_.orders().members().of(batch.id, JobState::kReady);
    const Queue* blocking = nullptr;
    std::uint64_t jobs = 0;
    std::string type;
    bool is_one_type = true;
    auto place = ready.begin();
    for (; place != ready.end() && take_step(); ++place) {
      const Job* const job = view_.jobs().find_unread(place->id);
      if (job == nullptr) continue;
      const Queue& queue = view_.queues().at(job->queue);
      if (blocking == nullptr && !is_blocked(queue, *job)) continue;
      if (blocking != nullptr && blocking != &queue) continue;
      blocking = &queue;
      ++jobs;
      // A body that only the log holds is not read for this.
      const std::string its_type = job->is_spilled() ? "" : site_.format.type_of(*job).name;
      if (jobs == 1) type = its_type;
      is_one_type = is_one_type && type == its_type;
    }
    if (blocking == nullptr) return std::nullopt;
    const bool are_all = place == ready.end();
    const std::string what = is_one_type && !type.empty()
                                 ? count_of(jobs, concat(cut(type, kNameBytesMax), " job"))
                                 : count_of(jobs, "job");
    return Cause{
        .is_blocked = true,
        .text = concat("blocked by ", are_all ? "" : "at least ", what, " in ", where(*blocking)),
        .queue = blocking->name};
  }
  [[nodiscard]] bool is_blocked(const Queue& queue, const Job& job) const {
    return queue.is_paused(now_) || is_abandoned(queue, job.enqueued_at, now_);
  }

  MaybeCause stuck_callback(const JobBatch& batch, BatchRole role) const {
    const Job* const job = callback_job(batch, role);
    if (job == nullptr) return std::nullopt;
    if (job->state == JobState::kDead) {
      return Cause{.is_blocked = true,
                   .text = concat("its ", name_of(role), " callback is dead. Retry job ", job->id),
                   .job = job->id};
    }
    const Queue& queue = view_.queues().at(job->queue);
    if (job->state != JobState::kReady || !is_blocked(queue, *job)) return std::nullopt;
    return Cause{.is_blocked = true,
                 .text = concat("its ", name_of(role), " callback is in ", where(queue)),
                 .queue = queue.name,
                 .job = job->id};
  }
  /// "low, which is paused"
  [[nodiscard]] std::string where(const Queue& queue) const {
    const bool is_paused = queue.is_paused(now_);
    return concat(queue.name, is_paused ? ", which is paused" : ", which no worker serves");
  }

  // ---- what it waits for ----

  MaybeCause waiting_cause(const JobBatch& batch) {
    if (!batch.fields.has(JobBatchFields::kCommitted)) {
      return Cause{.text = "waiting for its client to commit it"};
    }
    const std::uint64_t running = count(batch, JobState::kReserved);
    const std::uint64_t ready = count(batch, JobState::kReady);
    if (running > 0) {
      return Cause{.text = concat(members(running, "is running", "are running"),
                                  ready > 0 ? concat(", ", grouped(ready), " ready") : "")};
    }
    if (ready > 0) return Cause{.text = members(ready, "is ready", "are ready")};
    for (const JobState state : {JobState::kRetrying, JobState::kScheduled}) {
      if (MaybeCause due = due_members(batch, state)) return due;
    }
    for (const BatchRole role : {BatchRole::kComplete, BatchRole::kSuccess}) {
      const Job* const job = callback_job(batch, role);
      if (job == nullptr) continue;
      const bool is_running = job->state == JobState::kReserved;
      return Cause{.text = concat("its ", name_of(role), " callback is ",
                                  is_running ? "running" : name_of(job->state)),
                   .job = job->id};
    }
    return std::nullopt;
  }

  /// Members that are due later. The first time is said where all of them could be looked at.
  MaybeCause due_members(const JobBatch& batch, JobState state) {
    const JobsByState::Order& order = view_.orders().members().of(batch.id, state);
    if (order.empty()) return std::nullopt;
    Time next = kNever;
    for (const JobsByState::Entry& entry : order) {
      if (!take_step()) {
        next = kNever;
        break;
      }
      const Job* const job = view_.jobs().find_unread(entry.id);
      if (job != nullptr) next = std::min(next, job->steady_when(view_.wall_clock()));
    }
    const bool is_retrying = state == JobState::kRetrying;
    return Cause{.text = is_retrying
                             ? concat("waiting for ", count_of(order.size(), "retrying member"))
                             : concat("waiting for ", count_of(order.size(), "scheduled member")),
                 .next = next};
  }

  /// Null: it is not there.
  [[nodiscard]] const Job* callback_job(const JobBatch& batch, BatchRole role) const {
    const bool is_there = batch.fields.callback(role) == CallbackState::kEnqueued;
    return is_there ? view_.jobs().find_unread(batch.fields.callback_job(role)) : nullptr;
  }
  static const char* name_of(BatchRole role) {
    return role == BatchRole::kComplete ? "complete" : "success";
  }
  static const char* name_of(JobState state) { return http::name_of(state); }

  // ---- children ----

  /// The reason of a child: the first one for which somebody has to act, or else the first one.
  MaybeCause cause_below(const JobBatch& batch, std::size_t depth) {
    if (batch.fields.unsuccessful == 0 || depth == kCauseDepthMax) return std::nullopt;
    MaybeCause first;
    const JobBatches::Families& families = view_.batches().families();
    auto place = families.lower_bound({batch.id, 0});
    for (; place != families.end() && place->first.first == batch.id && take_step(); ++place) {
      const JobBatch& child = view_.batches().at(place->second);
      MaybeCause cause = find(child, depth + 1);
      if (!cause) continue;
      if (cause->batch == 0) {
        const std::string_view description = JobBatches::added_of(child).description;
        cause->batch = child.id;
        cause->label = description.empty() ? format_bid(child.id)
                                           : std::string(cut(description, kNameBytesMax));
        cause->depth = depth + 1;
      }
      if (cause->is_blocked) return cause;
      if (!first) first = std::move(cause);
    }
    return first;
  }

  /// Children that were not looked at, or are gone.
  static MaybeCause unknown_child(const JobBatch& batch) {
    const JobBatchFields& fields = batch.fields;
    if (fields.unsettled > 0) {
      return Cause{.text = concat("waiting for ", grouped(fields.unsettled),
                                  fields.unsettled == 1 ? " child batch" : " child batches")};
    }
    if (fields.unsuccessful == 0) return std::nullopt;
    return Cause{
        .is_blocked = true,
        .text = concat(grouped(fields.unsuccessful),
                       fields.unsuccessful == 1 ? " child batch" : " child batches", " failed")};
  }

  bool take_step() {
    if (steps_ == 0) return false;
    --steps_;
    return true;
  }

  const Site& site_;
  const View& view_;
  Time now_;
  std::size_t steps_;
};

/// "Blocked by child batch X: 3 members are dead. Retry them so the success callback can run"
std::string sentence_of(const Cause& cause) {
  std::string text = cause.text;
  if (cause.batch != 0) {
    const char* const child = cause.depth == 1 ? " child batch " : " batch ";
    const std::string place = cause.depth == 1 ? "" : concat(", ", cause.depth, " levels below");
    text = concat(cause.is_blocked ? "blocked by" : "waiting for", child, cause.label, place, ": ",
                  text);
  }
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

}  // namespace

Json show_cause(const JobBatch& batch, const Site& site, Time now, std::size_t steps_max) {
  const MaybeCause cause = CauseSearch(site, now, steps_max).find(batch);
  if (!cause) return nullptr;
  const WallClock clock = site.broker.view().wall_clock();
  return {{"text", sentence_of(*cause)},
          {"is_blocked", cause->is_blocked},
          {"bid", cause->batch == 0 ? Json(nullptr) : Json(format_bid(cause->batch))},
          {"batch", text_or_null(cause->label)},
          {"queue", text_or_null(cause->queue)},
          {"job", cause->job == 0 ? Json(nullptr) : Json(cause->job)},
          {"next_at", show_time(cause->next, clock)}};
}

}  // namespace millrace::http
