#include <algorithm>
#include <array>
#include <variant>

#include "core/model/features/bid.hpp"
#include "faktory/session/reply.hpp"
#include "faktory/session/session.hpp"

/// What a client's user may do. A command without a `lacks` does not compile.
namespace millrace::faktory {
namespace {

using access::Right;

/// Of the commands, as they are noted: in the order of `Command`.
constexpr std::array<const char*, std::variant_size_v<Command>> kNotedAs = {
    "push",           "pushb",  "fetch",     "ack",          "fail",
    "beat",           "info",   "flush",     "queues/pause", "queues/delete",
    "queues/latency", "mutate", "track/get", "track/set",    "batches/new",
    "batches/use",    "end"};

}  // namespace

void FaktorySession::execute_if_allowed(const Command& command, Time now) {
  ++shared_.command_count;
  std::visit(
      [&](const auto& typed) {
        const Lacking lacking = caller_.is_limited() ? lacks(typed) : std::nullopt;
        if (!lacking) return execute(typed, now);
        const std::string refusal = reply::not_allowed(caller_.name(), lacking->right, lacking->of);
        shared_.broker.activity().refuse(
            change_by_this(kNotedAs[command.index()], {.details = refusal}, now), {});
        reply::error(output_, refusal);
      },
      command);
}

void FaktorySession::keep_allowed(std::vector<std::string_view>& queues) const {
  if (!caller_.is_limited()) return;
  std::erase_if(queues, [&](std::string_view name) { return !caller_.may(Right::kWork, name); });
}

void FaktorySession::refuse_job(const RefusedJob& refused, std::string_view action, Time now) {
  if (refused.reason == RefusedJob::Reason::kNotAllowed) {
    shared_.broker.activity().refuse(
        change_by_this(std::string(action), {.details = refused.detail}, now), {});
  }
  reply::refused_job(output_, refused);
}

void FaktorySession::look_at_users() {
  if (is_closing_ || caller_.is_unchanged_in(shared_.settings.users)) return;
  is_closing_ = true;
  if (wait_ == Wait::kJob) {
    shared_.broker.stop_waiting(client_);
    wait_ = Wait::kNothing;
  }
  shared_.broker.wake(client_);
}

FaktorySession::Lacking FaktorySession::lacks_somewhere(Right right) const {
  if (caller_.may_anywhere(right)) return std::nullopt;
  return Lack{right};
}

FaktorySession::Lacking FaktorySession::lacks_everywhere(Right right) const {
  if (caller_.may_everywhere(right)) return std::nullopt;
  return Lack{right, "all queues"};
}

/// `job`: null where there is none, so that nothing can be done with it. The name of its queue is
/// not told.
FaktorySession::Lacking FaktorySession::lacks_with_job(Right right, const Job* job) const {
  if (job == nullptr) return lacks_somewhere(right);
  if (caller_.may(right, shared_.broker.view().queues().at(job->queue).name)) return std::nullopt;
  return Lack{right, "the queue of this job"};
}

/// Of the job that the client holds, and of the one that is tracked by that jid. What is known of
/// one that has ended does not say its queue.
FaktorySession::Lacking FaktorySession::lacks_with_track(Right right, std::string_view jid) const {
  if (!caller_.is_limited()) return std::nullopt;
  const Job* const held = shared_.broker.workers().meant_by(client_, jid);
  const Job* const tracked = shared_.broker.workers().tracked_as(jid);
  if (held == nullptr && tracked == nullptr) return lacks_everywhere(right);
  if (held != nullptr) {
    if (Lacking lacking = lacks_with_job(right, held)) return lacking;
  }
  return tracked == nullptr ? std::nullopt : lacks_with_job(right, tracked);
}

template <typename Names>
FaktorySession::Lacking FaktorySession::lacks_with_queues(Right right, const Names& queues) const {
  const auto lacking = std::ranges::find_if_not(
      queues, [&](std::string_view name) { return caller_.may(right, name); });
  if (lacking == queues.end()) return std::nullopt;
  return Lack{right, std::string(lacking->substr(0, kQueueNameBytesMax))};
}

/// `named`: queues by their names, or all.
template <typename Named>
FaktorySession::Lacking FaktorySession::lacks_with_named(Right right, const Named& named) const {
  return named.is_all ? lacks_everywhere(right) : lacks_with_queues(right, named.names);
}

/// The queue is looked at with the job: see `Pusher`.
FaktorySession::Lacking FaktorySession::lacks(const Push&) const {
  return lacks_somewhere(Right::kPush);
}

FaktorySession::Lacking FaktorySession::lacks(const PushBulk&) const {
  return lacks_somewhere(Right::kPush);
}

/// What may not be fetched was left out. Without users, a line may name nothing that is a queue.
FaktorySession::Lacking FaktorySession::lacks(const Fetch& fetch) const {
  if (!caller_.is_limited() || !fetch.queues.empty()) return std::nullopt;
  return Lack{Right::kWork, "any of these queues"};
}

FaktorySession::Lacking FaktorySession::lacks(const Ack& ack) const {
  if (!caller_.is_limited()) return std::nullopt;
  return lacks_with_job(Right::kWork, shared_.broker.workers().meant_by(client_, ack.jid));
}

FaktorySession::Lacking FaktorySession::lacks(const Fail& fail) const {
  if (!caller_.is_limited()) return std::nullopt;
  return lacks_with_job(Right::kWork, shared_.broker.workers().meant_by(client_, fail.jid));
}

/// Of the worker that the connection belongs to: others would be told to stop.
FaktorySession::Lacking FaktorySession::lacks(const Beat& beat) const {
  if (!caller_.is_limited()) return std::nullopt;
  if (beat.wid != wid_) return Lack{Right::kWork, "this wid"};
  return lacks_somewhere(Right::kWork);
}

FaktorySession::Lacking FaktorySession::lacks(const Info&) const {
  return lacks_everywhere(Right::kView);
}

FaktorySession::Lacking FaktorySession::lacks(const Flush&) const {
  return lacks_everywhere(Right::kAdmin);
}

FaktorySession::Lacking FaktorySession::lacks(const PauseQueues& queues) const {
  return lacks_with_named(Right::kOperate, queues);
}

FaktorySession::Lacking FaktorySession::lacks(const RemoveQueues& queues) const {
  return lacks_with_named(Right::kOperate, queues);
}

FaktorySession::Lacking FaktorySession::lacks(const QueueLatency& queues) const {
  return lacks_with_queues(Right::kView, queues.names);
}

/// Which queues it meets nobody knows before it has run.
FaktorySession::Lacking FaktorySession::lacks(const Mutate&) const {
  return lacks_everywhere(Right::kOperate);
}

/// Those who push or work on a job may see how far it is.
FaktorySession::Lacking FaktorySession::lacks(const TrackGet& get) const {
  const bool may =
      !lacks_with_track(Right::kWork, get.jid) || !lacks_with_track(Right::kPush, get.jid);
  return may ? std::nullopt : lacks_with_track(Right::kView, get.jid);
}

FaktorySession::Lacking FaktorySession::lacks(const TrackSet& set) const {
  return lacks_with_track(Right::kWork, set.jid);
}

/// The callbacks' queues are looked at with them: see `BatchMaker`.
FaktorySession::Lacking FaktorySession::lacks(const NewBatch&) const {
  return lacks_somewhere(Right::kPush);
}

/// See `may_use`.
FaktorySession::Lacking FaktorySession::lacks(const UseBatch& use) const {
  if (!caller_.is_limited()) return std::nullopt;
  const JobBatch* const batch =
      shared_.broker.view().batches().find(parse_bid(use.bid).value_or(0));
  if (batch == nullptr) return lacks_somewhere(Right::kPush);
  if (may_use(caller_, *batch)) return std::nullopt;
  return Lack{Right::kPush, "the queues of this batch"};
}

FaktorySession::Lacking FaktorySession::lacks(const End&) const {
  return std::nullopt;
}

}  // namespace millrace::faktory
