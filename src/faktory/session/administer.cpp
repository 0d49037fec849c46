#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "core/broker/features/activity.hpp"
#include "faktory/json/text.hpp"
#include "faktory/session/reply.hpp"
#include "faktory/session/session.hpp"

/// The commands of administrators: on all jobs, on whole queues, and on many jobs at once. Each is
/// noted.
namespace millrace::faktory {
namespace {

/// The named queues, or with the wildcard all of them. Tubes whose names FWP cannot write are left
/// out.
template <typename Named>
std::vector<std::string> names_of(const Named& named, const Queues& queues) {
  std::vector<std::string> names;
  const auto add = [&](std::string_view name) {
    if (is_queue_name(name)) names.emplace_back(name);
  };
  if (named.is_all) {
    for (const auto& [created, id] : queues.by_creation()) add(queues.at(id).name);
  } else {
    for (const std::string_view name : named.names) add(name);
  }
  return names;
}

/// `kill dead jobs with type "Mail*"`
std::string describe(const Mutate& mutate) {
  const auto verb = [](Mutation::Action action) {
    switch (action) {
      case Mutation::Action::kDiscard:
        return "delete ";
      case Mutation::Action::kKill:
        return "kill ";
      case Mutation::Action::kRequeue:
        return "retry ";
      case Mutation::Action::kMove:
        return "move ";
    }
    return "";
  };
  const char* const set = mutate.set == JobState::kScheduled  ? "scheduled"
                          : mutate.set == JobState::kRetrying ? "retrying"
                                                              : "dead";
  const MutateFilter& filter = mutate.filter;
  std::string text = std::string(verb(mutate.action)) + set + " jobs";
  if (!mutate.to.empty()) text += " to " + mutate.to;
  const char* before = " with ";
  const auto add = [&](const std::string& what) { text += std::exchange(before, ", ") + what; };
  if (!filter.jobtype.empty()) add("type \"" + filter.jobtype + '"');
  if (!filter.regexp.empty()) add("text \"" + filter.regexp + '"');
  if (filter.jids.size() == 1) add("jid \"" + filter.jids.front() + '"');
  if (filter.jids.size() > 1) add("one of " + std::to_string(filter.jids.size()) + " jids");
  return text;
}

template <typename Queues>
Described describe(const Queues& queues) {
  if (queues.is_all) return {.details = "all queues"};
  if (queues.names.size() == 1) return {.target = std::string(queues.names.front())};
  std::string text;
  for (const std::string_view name : queues.names) {
    text += text.empty() ? "" : ", ";
    text += name;
    if (text.size() > kChangeTextBytesMax) break;
  }
  return {.details = std::move(text)};
}

}  // namespace

Change FaktorySession::change_by_this(std::string action, Described described, Time now) const {
  return {.at = now,
          .protocol = "faktory",
          .from = shown_peer(peer_),
          .user = std::string(caller_.name()),
          .how = shared_.settings.users || !shared_.settings.password.empty() ? "password" : "none",
          .client = wid_,
          .action = std::move(action),
          .target = std::move(described.target),
          .details = std::move(described.details)};
}

void FaktorySession::note(std::string action, Described described, Time now) {
  noted_ =
      shared_.broker.activity().note(change_by_this(std::move(action), std::move(described), now));
}

void FaktorySession::note_wrong_password(Time now) {
  shared_.broker.activity().refuse(change_by_this("login", {.details = "wrong password"}, now),
                                   shown_peer(peer_));
}

void FaktorySession::execute(const Flush&, Time now) {
  note("flush", {.details = "everything"}, now);
  if (shared_.broker.admin().flush(client_, now)) {
    reply::ok(output_);
  } else {
    wait_ = Wait::kLongTask;
  }
}

void FaktorySession::answer_long_task(std::optional<std::uint64_t> moved) {
  if (moved) {
    shared_.broker.activity().finish(noted_, *moved);
    reply::ok(output_);
  } else {
    wait_ = Wait::kLongTask;
  }
}

void FaktorySession::execute(const PauseQueues& queues, Time now) {
  const bool is_pause = queues.action == PauseQueues::Action::kPause;
  if (is_pause && shared_.broker.admission() >= Admission::kNoGrowth) {
    return reply::error(output_, reply::kNoRoom);
  }
  note(is_pause ? "queues/pause" : "queues/resume", describe(queues), now);
  const std::optional<std::uint32_t> seconds =
      is_pause ? std::nullopt : std::optional<std::uint32_t>(0);
  answer_long_task(shared_.broker.admin().pause_queues(
      // Names are copied at the start: queues that come later are not paused.
      client_, names_of(queues, shared_.broker.view().queues()), seconds, now));
}

void FaktorySession::execute(const RemoveQueues& queues, Time now) {
  note("queues/delete", describe(queues), now);
  answer_long_task(shared_.broker.admin().remove_queues(
      client_, names_of(queues, shared_.broker.view().queues()), now));
}

void FaktorySession::execute(const Mutate& mutate, Time now) {
  const bool is_move = mutate.action == Mutation::Action::kMove;
  if (is_move && shared_.broker.refuses_jobs()) {
    return reply::error(output_, reply::kNoRoom);
  }
  note("mutate", {.details = describe(mutate)}, now);
  answer_long_task(shared_.broker.admin().mutate(
      client_,
      {.set = mutate.set,
       .action = mutate.action,
       .to = mutate.to,
       .matches = make_matcher(mutate.filter, shared_.format, shared_.broker.view().wall_clock())},
      now));
}

}  // namespace millrace::faktory
