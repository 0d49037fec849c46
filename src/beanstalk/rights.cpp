#include <algorithm>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>

#include "beanstalk/reply.hpp"
#include "beanstalk/session.hpp"

/// What a client's user may do. A command without an `allows` does not compile.
namespace millrace::beanstalk {

using access::Right;

namespace {

/// As the audit log calls what was refused. By `command_index`.
constexpr const char* kNotedAs[] = {"put",
                                    "peek",
                                    "peek-ready",
                                    "peek-delayed",
                                    "peek-buried",
                                    "reserve",
                                    "reserve-with-timeout",
                                    "reserve-job",
                                    "delete",
                                    "release",
                                    "bury",
                                    "touch",
                                    "kick",
                                    "kick-job",
                                    "use",
                                    "watch",
                                    "ignore",
                                    "pause-tube",
                                    "stats",
                                    "stats-job",
                                    "stats-tube",
                                    "list-tubes",
                                    "list-tube-used",
                                    "list-tubes-watched",
                                    "quit"};
static_assert(std::size(kNotedAs) == kCommandCount);

/// It is about no single tube.
template <typename C>
constexpr bool kIsOfMany =
    std::is_same_v<C, Reserve> || std::is_same_v<C, ReserveWithTimeout> || std::is_same_v<C, Stats>;

}  // namespace

/// The protocol has no word for it. Of a job that a user may not touch it is told that there is
/// none; for all else there is one that client libraries report as an error, and do not try again.
template <typename C>
void BeanstalkSession::execute_if_allowed(const C& command, Time now) {
  if (allows(command)) return execute(command, now);
  std::string target;
  if constexpr (requires { command.id; }) {
    output_ += reply::kNotFound;
    // What is not there, nobody was kept from.
    if (shared_.broker.view().jobs().find_unread(command.id) == nullptr) return;
    target = std::to_string(command.id);
  } else {
    output_ += reply::kUnknownCommand;
    if constexpr (requires { command.tube; }) {
      target = command.tube;
    } else if constexpr (!kIsOfMany<C>) {
      target = used_tube().name;
    }
  }
  note_refused(command_index<C>(), std::move(target), now);
}

/// `command`: its `command_index`.
void BeanstalkSession::note_refused(std::size_t command, std::string target, Time now) {
  shared_.broker.activity().refuse({.at = now,
                                    .protocol = "beanstalk",
                                    .from = shown_peer(peer_),
                                    .user = std::string(caller_.name()),
                                    .how = "listener",
                                    .client = {},
                                    .action = kNotedAs[command],
                                    .target = std::move(target),
                                    .details = {}},
                                   {});
}

void BeanstalkSession::execute_allowed(const Command& command, Time now) {
  std::visit([this, now](const auto& each) { execute_if_allowed(each, now); }, command);
}

void BeanstalkSession::look_at_users(bool ends_all) {
  const bool may_stay = !ends_all && caller_.is_unchanged_in(shared_.settings.users);
  if (is_closing_ || may_stay) return;
  is_closing_ = true;
  if (wait_ == Wait::kJob) {
    shared_.broker.stop_waiting(client_);
    wait_ = Wait::kNothing;
  }
  shared_.broker.wake(client_);
}

bool BeanstalkSession::may(Right right, JobId id) const {
  if (!caller_.is_limited()) return true;
  const View& view = shared_.broker.view();
  const Job* const job = view.jobs().find_unread(id);
  return job != nullptr && caller_.may(right, view.queues().at(job->queue).name);
}

/// From all that the client watches, and that is something.
bool BeanstalkSession::may_reserve() const {
  if (!caller_.is_limited()) return true;
  const View& view = shared_.broker.view();
  const auto& watched = view.client(client_).watched;
  return !watched.empty() && std::ranges::all_of(watched, [&](QueueId id) {
    return caller_.may(Right::kWork, view.queues().at(id).name);
  });
}

bool BeanstalkSession::may_see(std::string_view tube) const {
  return std::ranges::any_of(access::kRightNames,
                             [&](const auto& each) { return caller_.may(each.second, tube); });
}

bool BeanstalkSession::allows(const Put&) const {
  return caller_.may(Right::kPush, used_tube().name);
}

bool BeanstalkSession::allows(const Peek& command) const {
  return may(Right::kView, command.id);
}

bool BeanstalkSession::allows(const PeekReady&) const {
  return caller_.may(Right::kView, used_tube().name);
}

bool BeanstalkSession::allows(const PeekDelayed&) const {
  return caller_.may(Right::kView, used_tube().name);
}

bool BeanstalkSession::allows(const PeekBuried&) const {
  return caller_.may(Right::kView, used_tube().name);
}

bool BeanstalkSession::allows(const Reserve&) const {
  return may_reserve();
}

bool BeanstalkSession::allows(const ReserveWithTimeout&) const {
  return may_reserve();
}

bool BeanstalkSession::allows(const ReserveJob& command) const {
  return may(Right::kWork, command.id);
}

/// Of one that a client holds it ends the run.
bool BeanstalkSession::allows(const Delete& command) const {
  if (!caller_.is_limited()) return true;
  const Job* const job = shared_.broker.view().jobs().find_unread(command.id);
  const bool is_taken = job != nullptr && job->state == JobState::kReserved;
  return may(is_taken ? Right::kWork : Right::kOperate, command.id);
}

bool BeanstalkSession::allows(const Release& command) const {
  return may(Right::kWork, command.id);
}

bool BeanstalkSession::allows(const Bury& command) const {
  return may(Right::kWork, command.id);
}

bool BeanstalkSession::allows(const Touch& command) const {
  return may(Right::kWork, command.id);
}

bool BeanstalkSession::allows(const Kick&) const {
  return caller_.may(Right::kOperate, used_tube().name);
}

bool BeanstalkSession::allows(const KickJob& command) const {
  return may(Right::kOperate, command.id);
}

/// It names a tube, and what is done with it then has rights of its own.
bool BeanstalkSession::allows(const Use&) const {
  return true;
}

bool BeanstalkSession::allows(const Watch& command) const {
  return caller_.may(Right::kWork, command.tube);
}

bool BeanstalkSession::allows(const Ignore&) const {
  return true;
}

bool BeanstalkSession::allows(const PauseTube& command) const {
  return caller_.may(Right::kOperate, command.tube);
}

bool BeanstalkSession::allows(const Stats&) const {
  return caller_.may_everywhere(Right::kView);
}

/// Workers read how often their job was tried.
bool BeanstalkSession::allows(const StatsJob& command) const {
  return may(Right::kView, command.id) || may(Right::kWork, command.id);
}

bool BeanstalkSession::allows(const StatsTube& command) const {
  return caller_.may(Right::kView, command.tube);
}

/// Tubes that the user may do nothing with are left out.
bool BeanstalkSession::allows(const ListTubes&) const {
  return true;
}

bool BeanstalkSession::allows(const ListTubeUsed&) const {
  return true;
}

bool BeanstalkSession::allows(const ListTubesWatched&) const {
  return true;
}

bool BeanstalkSession::allows(const Quit&) const {
  return true;
}

}  // namespace millrace::beanstalk
